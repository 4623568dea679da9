;; A real Storm on loopback in one process, for tests: ZooKeeper, Nimbus, a supervisor with its worker, the UI, and the
;; topology `words`. Arguments: the ports of ZooKeeper and of Nimbus, and a folder of its own. The port of the UI is in
;; storm.yaml, which lies on the class path.
(ns words
  (:use [org.apache.storm clojure config testing])
  (:import [java.io File]
           [java.net InetSocketAddress]
           [org.apache.storm.generated Nimbus$Processor]
           [org.apache.storm.shade.org.apache.zookeeper.server NIOServerCnxnFactory ZooKeeperServer]
           [org.apache.storm.thrift.protocol TBinaryProtocol$Factory]
           [org.apache.storm.thrift.server THsHaServer THsHaServer$Args]
           [org.apache.storm.thrift.transport TNonblockingServerSocket]))

(defn work
  "Keep the processor busy for so many microseconds."
  [^long us]
  (let [end (+ (System/nanoTime) (* us 1000))]
    (loop [] (when (< (System/nanoTime) end) (recur)))))

(defspout feed ["word"] [conf context collector]
  (let [given (atom 0)]
    (spout (nextTuple []
             (Thread/sleep 20)
             (emit-spout! collector [(str "k" (mod (swap! given inc) 10))])))))

;; 2 ms a tuple, and three words of each.
(defbolt split ["word"] [tuple collector]
  (work 2000)
  (dotimes [part 3] (emit-bolt! collector [(str (.getString tuple 0) part)]))
  (ack! collector tuple))

;; 1 ms for a tuple of feed, half of one for a tuple of split, and a tick every second.
(defbolt tally [] [tuple collector]
  (work (if (= "feed" (.getSourceComponent tuple)) 1000 500))
  (ack! collector tuple))

(def words-topology
  (topology {"feed" (spout-spec feed :p 1)}
            {"split" (bolt-spec {"feed" :shuffle} split :p 1)
             "count" (bolt-spec {"split" ["word"] "feed" :shuffle} tally :p 2
                                :conf {TOPOLOGY-TASKS 5 TOPOLOGY-TICK-TUPLE-FREQ-SECS 1})}))

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

(let [[zookeeper-port nimbus-port folder] *command-line-args*]
  (start-zookeeper (Integer/parseInt zookeeper-port) folder)
  (let [cluster (mk-local-storm-cluster :supervisors 1 :ports-per-supervisor 1
                                        :daemon-conf {STORM-ZOOKEEPER-SERVERS ["localhost"]
                                                      STORM-ZOOKEEPER-PORT (Integer/parseInt zookeeper-port)})]
    (serve-nimbus (:nimbus cluster) (Integer/parseInt nimbus-port))
    (submit-local-topology (:nimbus cluster) "words" {TOPOLOGY-WORKERS 1 TOPOLOGY-ACKER-EXECUTORS 0} words-topology))
  (require 'org.apache.storm.ui.core)
  ((resolve 'org.apache.storm.ui.core/start-server!)))
