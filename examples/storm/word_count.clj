;; Word count whose bolts wait instead of computing: its capacity does not depend on the machine's speed.
;; A sentence has three words. The words of a cycle of ten sentences are as frequent as word-count.yaml says.
(ns word-count
  (:use [org.apache.storm clojure config])
  (:import [java.io File]
           [java.util.concurrent.locks LockSupport]))

(def debts
  "Nanoseconds that each thread has waited too long so far."
  (proxy [ThreadLocal] [] (initialValue [] (long-array 1))))

(defn work
  "Wait so many microseconds. A system wakes threads late: what was too long is taken off the next time, so that the mean
  is as given."
  [^long us]
  (let [^longs debt (.get ^ThreadLocal debts)
        asked (* us 1000)
        taken (min (aget debt 0) (quot asked 2))
        end (+ (System/nanoTime) (- asked taken))]
    (loop []
      (let [left (- end (System/nanoTime))]
        (when (pos? left) (LockSupport/parkNanos left) (recur))))
    (aset debt 0 (+ (- (aget debt 0) taken) (- (System/nanoTime) end)))))

(def cycle-of-words
  "`storm` is every fifth word, `heron` every tenth, each of the other 21 every thirtieth."
  (let [rest (map #(str "w" %) (range 21))]
    (vec (concat (repeat 6 "storm") (repeat 3 "heron") rest))))

(defn words-of
  "The three words of a sentence: far from each other in the cycle."
  [^long number]
  (map #(nth cycle-of-words (mod (+ (mod number 10) (* 10 %)) 30)) (range 3)))

(defn rate-per-s
  "What the file `rate` says, in the folder of the system property word-count.rate, or 10."
  []
  (try (Double/parseDouble (.trim (slurp (File. (System/getProperty "word-count.rate" "rate")))))
       (catch Exception _ 10.0)))

;; Sentences at their due times; if too many are under way, a sentence is sent later.
(defspout sentences ["number"] [conf context collector]
  (let [sent (atom 0) due (atom 0.0) seen (atom (System/nanoTime)) rate (atom [0 10.0])]
    (spout
      (nextTuple []
        (let [now (System/nanoTime)]
          (when (> (- now (first @rate)) 500000000) (reset! rate [now (rate-per-s)]))
          ;; At most one second's backlog is caught up on.
          (reset! due (min (+ @due (* (second @rate) (/ (- now @seen) 1e9))) (max 1.0 (second @rate))))
          (reset! seen now)
          (if (>= @due 1.0)
            (do (swap! due - 1.0)
                (emit-spout! collector [(swap! sent inc)] :id @sent))
            (Thread/sleep 1)))))))

(defbolt split ["word"] [tuple collector]
  (work 40000)
  (doseq [word (words-of (.getLong tuple 0))] (emit-bolt! collector [word] :anchor tuple))
  (ack! collector tuple))

(defbolt tally [] [tuple collector]
  (work 8000)
  (ack! collector tuple))

(def word-count-topology
  (topology {"sentences" (spout-spec sentences :p 1)}
            {"split" (bolt-spec {"sentences" :shuffle} split :p 2 :conf {TOPOLOGY-TASKS 12})
             "count" (bolt-spec {"split" ["word"]} tally :p 3 :conf {TOPOLOGY-TASKS 12})}))

(def submitted
  {:name "word-count"
   :settings {TOPOLOGY-WORKERS 1 TOPOLOGY-ACKER-EXECUTORS 1 TOPOLOGY-MAX-SPOUT-PENDING 120 TOPOLOGY-STATS-SAMPLE-RATE 1.0}
   :topology word-count-topology})
