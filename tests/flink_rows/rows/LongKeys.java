package rows;

import java.util.SplittableRandom;
import modeled.Arrivals;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.KeyedProcessFunction;
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;
import org.apache.flink.util.Collector;
import paced.SteadyWork;
import paced.Zipf;

/** Items keyed by a Long, 0 to 99 after Zipf's law, of which each takes its operator 5 ms. */
public final class LongKeys {

    private static final double WORK_MILLIS = 5;

    public static void main(String[] args) throws Exception {
        StreamExecutionEnvironment env = StreamExecutionEnvironment.getExecutionEnvironment();
        env.disableOperatorChaining();
        env.setBufferTimeout(0);
        Zipf zipf = new Zipf(100, 1);
        Arrivals<Long> arrivals =
                new Arrivals<>(args[1], "items", 1, (number, due) -> (long) zipf.next(new SplittableRandom(number)));
        env.fromSource(arrivals, WatermarkStrategy.noWatermarks(), "items", Types.LONG)
                .keyBy(key -> key, Types.LONG)
                .process(new Work())
                .name("work")
                .sinkTo(new DiscardingSink<>())
                .name("store");
        env.execute(args[3]);
    }

    private static final class Work extends KeyedProcessFunction<Long, Long, Long> {
        private final SteadyWork work = SteadyWork.ofMillis(WORK_MILLIS);

        @Override
        public void processElement(Long key, Context context, Collector<Long> out) {
            work.perform();
            out.collect(key);
        }
    }

    private LongKeys() {}
}
