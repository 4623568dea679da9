;; A real Storm on loopback in one process: ZooKeeper, Nimbus, a supervisor with its workers, the UI, and one topology.
;; Arguments: the ports of ZooKeeper and of Nimbus, a folder of its own, the supervisor's slots, and the namespace whose
;; `submitted` is the topology; it lies on the class path. The port of the UI is in storm.yaml, which lies there too.
(ns local-storm
  (:use [org.apache.storm config testing])
  (:import [java.io File]
           [java.net InetSocketAddress]
           [org.apache.storm.generated Nimbus$Processor]
           [org.apache.storm.shade.org.apache.zookeeper.server NIOServerCnxnFactory ZooKeeperServer]
           [org.apache.storm.thrift.protocol TBinaryProtocol$Factory]
           [org.apache.storm.thrift.server THsHaServer THsHaServer$Args]
           [org.apache.storm.thrift.transport TNonblockingServerSocket]))

(defn start-zookeeper [port folder]
  (doto (NIOServerCnxnFactory.)
    (.configure (InetSocketAddress. "127.0.0.1" port) 60)
    (.startup (ZooKeeperServer. (File. folder "zookeeper") (File. folder "zookeeper") 2000))))

(defn serve-nimbus
  "Storm's own way to serve it would listen to everybody."
  [nimbus port]
  (let [server (THsHaServer. (-> (TNonblockingServerSocket. (InetSocketAddress. "127.0.0.1" port))
                                 (THsHaServer$Args.)
                                 (.processor (Nimbus$Processor. nimbus))
                                 (.protocolFactory (TBinaryProtocol$Factory. false true))))]
    (.start (Thread. #(.serve server)))))

(let [[zookeeper-port nimbus-port folder slots namespace] *command-line-args*]
  (start-zookeeper (Integer/parseInt zookeeper-port) folder)
  (require (symbol namespace))
  (let [cluster (mk-local-storm-cluster :supervisors 1 :ports-per-supervisor (Integer/parseInt slots)
                                        :daemon-conf {STORM-ZOOKEEPER-SERVERS ["localhost"]
                                                      STORM-ZOOKEEPER-PORT (Integer/parseInt zookeeper-port)})
        {:keys [name settings topology]} @(ns-resolve (symbol namespace) 'submitted)]
    (serve-nimbus (:nimbus cluster) (Integer/parseInt nimbus-port))
    (submit-local-topology (:nimbus cluster) name settings topology))
  (require 'org.apache.storm.ui.core)
  ((resolve 'org.apache.storm.ui.core/start-server!)))
