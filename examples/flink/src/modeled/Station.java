package modeled;

import java.io.IOException;
import java.io.Serializable;
import java.nio.file.Path;
import java.util.List;
import java.util.SplittableRandom;
import org.apache.flink.util.Collector;
import org.apache.flink.util.OutputTag;
import paced.Computing;
import paced.SteadyWork;
import paced.Zipf;

/** What an instance of an operator does with an item: work for a random time, then emit items made of it. */
final class Station implements Serializable {

    /** Output of the items on a stream: a side output if the operator has several streams. */
    interface Outlet {
        void give(OutputTag<Item> tag, Item item);
    }

    private static final long SERVICE = 3;
    private static final long COUNT = 4;

    final Shape.Operator operator;

    private final double[] serviceMillis;
    private final List<Shape.Stream> outputs;
    private final List<OutputTag<Item>> tags;
    private final Zipf keys;
    private final String latencies;
    private final long salt;
    private final boolean computes;
    private final SteadyWork work = SteadyWork.ofEachRecord();
    private transient LatencyLog log;

    /** latencies: folder of the logs that sinks write. computes: whether to compute instead of waiting. */
    Station(Shape shape, Shape.Operator operator, Zipf keys, String latencies, boolean computes) {
        this.operator = operator;
        this.serviceMillis = shape.serviceMillis(operator);
        this.outputs = List.copyOf(shape.outputs(operator));
        this.tags = outputs.stream().map(ModeledJob::tag).toList();
        this.keys = keys;
        this.latencies = latencies;
        this.computes = computes;
        this.salt = operator.name().hashCode();
    }

    void open(int subtask) throws IOException {
        SteadyWork.ofMillis(operator.startupMillis()).perform();
        if (outputs.isEmpty()) {
            log = new LatencyLog(Path.of(latencies), operator.name(), subtask);
        }
    }

    void perform(Item item, Collector<Item> out, Outlet outlet) throws IOException {
        SplittableRandom service = Draws.of(item.id, salt + SERVICE);
        long nanos = (long) (1e6 * serviceMillis[item.stream] * Draws.erlang(service, operator.phases()));
        if (computes) {
            Computing.perform(nanos);
        } else {
            work.perform(nanos);
        }
        if (log != null) {
            log.add(item.dueMicros);
        }
        for (int i = 0; i < outputs.size(); i++) {
            Shape.Stream stream = outputs.get(i);
            int count = Draws.whole(Draws.of(item.id, stream.number() * 31L + COUNT), stream.selectivity());
            for (int number = 0; number < count; number++) {
                Item child = item.child(stream.number(), number, keys);
                if (outputs.size() == 1) {
                    out.collect(child);
                } else {
                    outlet.give(tags.get(i), child);
                }
            }
        }
    }

    void close() throws IOException {
        if (log != null) {
            log.close();
        }
    }
}
