package bounded;

import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.connector.source.util.ratelimit.RateLimiterStrategy;
import org.apache.flink.connector.datagen.source.DataGeneratorSource;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.ProcessFunction;
import org.apache.flink.util.Collector;

/**
 * A job of which parts finish: the source "countries" ends after 5 s, and the first of three subtasks of the source
 * "events" after 4 s; the other two go on for an hour. Both are read by "work". Arguments: {@code --job-name value}.
 */
public final class BoundedInput {

    private static final long PER_SUBTASK = 36_000;
    private static final long OF_FIRST_MILLIS = 4_000;

    public static void main(String[] args) throws Exception {
        StreamExecutionEnvironment env = StreamExecutionEnvironment.getExecutionEnvironment();
        env.disableOperatorChaining();
        env.enableCheckpointing(1000);
        DataStream<Long> countries =
                env.fromSource(
                        new DataGeneratorSource<>(
                                number -> number, 100, RateLimiterStrategy.perSecond(20), Types.LONG),
                        WatermarkStrategy.noWatermarks(),
                        "countries");
        long began = System.currentTimeMillis();
        DataStream<Long> events =
                env.fromSource(
                                new DataGeneratorSource<>(
                                        number -> {
                                            boolean ending = System.currentTimeMillis() > began + OF_FIRST_MILLIS;
                                            Thread.sleep(number < PER_SUBTASK && ending ? 0 : 100);
                                            return number;
                                        },
                                        3 * PER_SUBTASK,
                                        Types.LONG),
                                WatermarkStrategy.noWatermarks(),
                                "events")
                        .setParallelism(3);
        countries.union(events)
                .rebalance()
                .process(
                        new ProcessFunction<Long, Long>() {
                            @Override
                            public void processElement(Long number, Context context, Collector<Long> out) {
                                out.collect(number);
                            }
                        })
                .name("work");
        env.execute(args[1]);
    }
}
