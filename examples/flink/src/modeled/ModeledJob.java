package modeled;

import java.io.IOException;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.state.MapState;
import org.apache.flink.api.common.state.MapStateDescriptor;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.datastream.SingleOutputStreamOperator;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.KeyedProcessFunction;
import org.apache.flink.streaming.api.functions.ProcessFunction;
import org.apache.flink.util.Collector;
import org.apache.flink.util.OutputTag;
import paced.Zipf;

/**
 * Any topology of shuffled and keyed streams with known service times, to compare the performance model's predictions
 * with Flink's behaviour. Operators are not chained, and wait instead of computing unless work is {@code compute}.
 *
 * <p>Arguments, each {@code --name value}: operators and streams (see {@link Shape}), rates (a folder with a file
 * {@code source.rate} for each source with its items per second, or {@code source.schedule}, see {@link
 * paced.ScheduleFile}), latencies (the folder that sinks write to, see {@link LatencyLog}), keys (number of keys), skew
 * (exponent of Zipf's law, 0 for even keys), seed, buffer-timeout-ms, checkpoint-ms (interval), work, job-name.
 */
public final class ModeledJob {

    private static final TypeInformation<Item> ITEM = Types.POJO(Item.class);
    private static final Map<String, String> DEFAULTS =
            Map.ofEntries(
                    Map.entry("operators", ""),
                    Map.entry("streams", ""),
                    Map.entry("rates", ""),
                    Map.entry("latencies", ""),
                    Map.entry("keys", "1000"),
                    Map.entry("skew", "0"),
                    Map.entry("seed", "1"),
                    Map.entry("buffer-timeout-ms", "0"),
                    Map.entry("checkpoint-ms", "1000"),
                    Map.entry("work", "wait"),
                    Map.entry("job-name", "modeled"));

    public static void main(String[] args) throws Exception {
        Map<String, String> arguments = arguments(args);
        Shape shape = new Shape(arguments.get("operators"), arguments.get("streams"));
        int keys = Integer.parseInt(arguments.get("keys"));
        Zipf zipf = new Zipf(keys, Double.parseDouble(arguments.get("skew")));
        long seed = Long.parseLong(arguments.get("seed"));

        StreamExecutionEnvironment env = StreamExecutionEnvironment.getExecutionEnvironment();
        env.disableOperatorChaining();
        env.setBufferTimeout(Long.parseLong(arguments.get("buffer-timeout-ms")));
        env.enableCheckpointing(Long.parseLong(arguments.get("checkpoint-ms")));
        Map<String, DataStream<Item>> streams = new HashMap<>();
        for (Shape.Operator operator : shape.operators) {
            List<Shape.Stream> outputs = shape.outputs(operator);
            if (shape.inputs(operator).isEmpty()) {
                if (outputs.size() != 1 || outputs.get(0).selectivity() != 1) {
                    throw new IllegalArgumentException(
                            "source " + operator.name() + ": give it one stream of selectivity 1, and split that later");
                }
                long own = Draws.mix(seed, operator.name().hashCode());
                int stream = outputs.get(0).number();
                Arrivals<Item> arrivals =
                        new Arrivals<>(arguments.get("rates"), operator.name(), own, (number, dueMicros) -> {
                            long id = Draws.mix(number, own);
                            return new Item(id, dueMicros, Draws.key(id, zipf), stream);
                        });
                streams.put(
                        outputs.get(0).name(),
                        env.fromSource(arrivals, WatermarkStrategy.noWatermarks(), operator.name(), ITEM));
                continue;
            }
            boolean computes = arguments.get("work").equals("compute");
            Station station = new Station(shape, operator, zipf, arguments.get("latencies"), computes);
            SingleOutputStreamOperator<Item> output = worked(entering(shape, operator, streams), shape, station, keys);
            output.name(operator.name());
            for (Shape.Stream stream : outputs) {
                streams.put(stream.name(), outputs.size() == 1 ? output : output.getSideOutput(tag(stream)));
            }
        }
        env.execute(arguments.get("job-name"));
    }

    static OutputTag<Item> tag(Shape.Stream stream) {
        return new OutputTag<>(stream.name(), ITEM);
    }

    private static DataStream<Item> entering(
            Shape shape, Shape.Operator operator, Map<String, DataStream<Item>> streams) {
        return shape.inputs(operator).stream()
                .map(stream -> streams.get(stream.name()))
                .reduce((one, other) -> one.union(other))
                .orElseThrow();
    }

    private static SingleOutputStreamOperator<Item> worked(
            DataStream<Item> entering, Shape shape, Station station, int keys) {
        if (!shape.inputs(station.operator).get(0).keyed()) {
            return entering.rebalance().process(new Plain(station));
        }
        int paddingBytes = (int) (station.operator.stateMib() * (1 << 20) / keys);
        return entering.keyBy(item -> item.key, Types.STRING).process(new Keyed(station, paddingBytes));
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

    private static final class Plain extends ProcessFunction<Item, Item> {
        private final Station station;

        Plain(Station station) {
            this.station = station;
        }

        @Override
        public void open(OpenContext context) throws IOException {
            station.open(getRuntimeContext().getTaskInfo().getIndexOfThisSubtask());
        }

        @Override
        public void processElement(Item item, Context context, Collector<Item> out) throws IOException {
            station.perform(item, out, context::output);
        }

        @Override
        public void close() throws IOException {
            station.close();
        }
    }

    /** Keeps this many bytes for each key, in many small entries, so that a rescale has state to move. */
    private static final class Keyed extends KeyedProcessFunction<String, Item, Item> {
        private static final int ENTRY_BYTES = 256;

        private final Station station;
        private final int paddingBytes;
        private transient MapState<Integer, byte[]> padding;
        private transient Set<String> padded; // read once: while a checkpoint is written, each read is a copy

        Keyed(Station station, int paddingBytes) {
            this.station = station;
            this.paddingBytes = paddingBytes;
        }

        @Override
        public void open(OpenContext context) throws IOException {
            station.open(getRuntimeContext().getTaskInfo().getIndexOfThisSubtask());
            padding =
                    getRuntimeContext().getMapState(new MapStateDescriptor<>("padding", Integer.class, byte[].class));
            padded = new HashSet<>();
        }

        @Override
        public void processElement(Item item, Context context, Collector<Item> out) throws Exception {
            if (paddingBytes > 0 && padded.add(item.key) && padding.isEmpty()) {
                for (int entry = 0; entry < paddingBytes / ENTRY_BYTES; entry++) {
                    padding.put(entry, new byte[ENTRY_BYTES]);
                }
            }
            station.perform(item, out, context::output);
        }

        @Override
        public void close() throws IOException {
            station.close();
        }
    }

    private ModeledJob() {}
}
