package wordcount;

import java.util.HashMap;
import java.util.Map;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.connector.datagen.source.DataGeneratorSource;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.KeyedProcessFunction;
import org.apache.flink.streaming.api.functions.ProcessFunction;
import org.apache.flink.util.Collector;
import paced.ManySplits;
import paced.SteadyWork;

/**
 * Sentences, split into words, counted per word. Every operator works a known time per record, so a plan's capacity is
 * known before it is measured. Operators are not chained: each is a vertex that scales by itself.
 *
 * <p>Arguments, each {@code --name value}: rate (sentences per second of the whole source), rate-file (a file that
 * holds the rate and may change while the job runs; wins over rate), split-ms (work per sentence), count-ms (work per
 * word), words (per sentence), vocabulary (different words), skew (exponent of Zipf's law, 0 for even words), job-name,
 * parallelism (of sentences, split and count, as in {@code 1,2,4}; the cluster's own where left out).
 */
public final class WordCount {

    private static final Map<String, String> DEFAULTS =
            Map.of(
                    "rate", "100", "rate-file", "", "split-ms", "4", "count-ms", "1", "words", "5",
                    "vocabulary", "10000", "skew", "0", "job-name", "word-count", "parallelism", "");

    public static void main(String[] args) throws Exception {
        Map<String, String> given = arguments(args);
        int vocabulary = Integer.parseInt(given.get("vocabulary"));
        Words words = new Words(Integer.parseInt(given.get("words")), vocabulary, Double.parseDouble(given.get("skew")));
        RateSchedule rate = new RateSchedule(Double.parseDouble(given.get("rate")), given.get("rate-file"));

        StreamExecutionEnvironment env = StreamExecutionEnvironment.getExecutionEnvironment();
        env.disableOperatorChaining();
        var sentences =
                env.fromSource(
                        new DataGeneratorSource<>(words, new ManySplits(), rate, Types.STRING),
                        WatermarkStrategy.noWatermarks(),
                        "sentences");
        var split =
                sentences
                        .rebalance()
                        .process(new Split(SteadyWork.ofMillis(Double.parseDouble(given.get("split-ms")))))
                        .name("split");
        var count =
                split.keyBy(word -> word)
                        .process(new Count(SteadyWork.ofMillis(Double.parseDouble(given.get("count-ms")))))
                        .name("count");
        if (!given.get("parallelism").isEmpty()) {
            String[] wide = given.get("parallelism").split(",");
            sentences.setParallelism(Integer.parseInt(wide[0]));
            split.setParallelism(Integer.parseInt(wide[1]));
            count.setParallelism(Integer.parseInt(wide[2]));
        }
        env.execute(given.get("job-name"));
    }

    private static Map<String, String> arguments(String[] args) {
        Map<String, String> given = new HashMap<>(DEFAULTS);
        for (int i = 0; i < args.length; i += 2) {
            String name = args[i].startsWith("--") ? args[i].substring(2) : args[i];
            if (!DEFAULTS.containsKey(name) || i + 1 == args.length) {
                throw new IllegalArgumentException(
                        "argument " + args[i] + ": give --name value with a name of " + DEFAULTS.keySet());
            }
            given.put(name, args[i + 1]);
        }
        return given;
    }

    /** Sentences to words. */
    private static final class Split extends ProcessFunction<String, String> {
        private final SteadyWork work;

        Split(SteadyWork work) {
            this.work = work;
        }

        @Override
        public void processElement(String sentence, Context context, Collector<String> out) {
            work.perform();
            for (String word : sentence.split(" ")) {
                out.collect(word);
            }
        }
    }

    /** Counts of each word, kept in keyed state so that a rescale has state to move. */
    private static final class Count extends KeyedProcessFunction<String, String, Void> {
        private final SteadyWork work;
        private transient ValueState<Long> seen;

        Count(SteadyWork work) {
            this.work = work;
        }

        @Override
        public void open(OpenContext context) {
            seen = getRuntimeContext().getState(new ValueStateDescriptor<>("seen", Types.LONG));
        }

        @Override
        public void processElement(String word, Context context, Collector<Void> out) throws Exception {
            work.perform();
            Long before = seen.value();
            seen.update(before == null ? 1 : before + 1);
        }
    }

    private WordCount() {}
}
