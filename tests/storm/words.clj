;; The topology `words`, whose bolts keep the processor busy for known times.
(ns words
  (:use [org.apache.storm clojure config]))

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

(def submitted {:name "words" :settings {TOPOLOGY-WORKERS 1 TOPOLOGY-ACKER-EXECUTORS 0} :topology words-topology})
