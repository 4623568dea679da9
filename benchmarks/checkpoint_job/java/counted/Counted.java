package counted;

import java.io.FileWriter;
import java.io.IOException;
import java.io.Writer;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.functions.MapFunction;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.connector.source.util.ratelimit.RateLimiterStrategy;
import org.apache.flink.connector.datagen.source.DataGeneratorSource;
import org.apache.flink.connector.datagen.source.GeneratorFunction;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;

/** A source that counts, an operator to rescale, and one that writes each number down: one that comes twice was
 *  processed again. Compiles against Flink 1.20 and 2. Arguments: --name, --rate (a second), --file, in this order. */
public final class Counted {
    private Counted() {}

    public static void main(String[] args) throws Exception {
        StreamExecutionEnvironment env = StreamExecutionEnvironment.getExecutionEnvironment();
        env.disableOperatorChaining();
        GeneratorFunction<Long, Long> same = number -> number;
        env.fromSource(
                        new DataGeneratorSource<>(
                                same,
                                Long.MAX_VALUE,
                                RateLimiterStrategy.perSecond(Double.parseDouble(args[3])),
                                Types.LONG),
                        WatermarkStrategy.noWatermarks(),
                        "numbers")
                .rebalance()
                .map(number -> number)
                .returns(Types.LONG)
                .name("pass")
                .rebalance()
                .map(new Written(args[5]))
                .returns(Types.LONG)
                .name("written");
        env.execute(args[1]);
    }

    private static final class Written implements MapFunction<Long, Long> {
        private final String file;
        private transient Writer writer;

        Written(String file) {
            this.file = file;
        }

        @Override
        public Long map(Long number) throws IOException {
            if (writer == null) {
                writer = new FileWriter(file, true);
            }
            writer.write(number + " " + System.currentTimeMillis() + "\n");
            writer.flush();
            return number;
        }
    }
}
