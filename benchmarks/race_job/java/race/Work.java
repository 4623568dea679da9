package race;

import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.List;
import modeled.LatencyLog;
import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.functions.RichMapFunction;
import org.apache.flink.api.common.state.ListState;
import org.apache.flink.api.common.state.ListStateDescriptor;
import org.apache.flink.metrics.Gauge;
import org.apache.flink.runtime.state.FunctionInitializationContext;
import org.apache.flink.runtime.state.FunctionSnapshotContext;
import org.apache.flink.streaming.api.checkpoint.CheckpointedFunction;
import paced.Computing;

/**
 * Uses so much processor time for each event. An event is its number and when it was due, in microseconds. Its state
 * counts events and sums their numbers and squares: after a restart from a checkpoint these tell whether each event
 * counts once.
 */
public final class Work extends RichMapFunction<byte[], byte[]> implements CheckpointedFunction {

    private final long workNanos;
    private final String folder;
    private final long[] sums = new long[3];
    private transient ListState<long[]> kept;
    private transient LatencyLog log;

    public Work(long workMicros, String folder) {
        this.workNanos = 1000 * workMicros;
        this.folder = folder;
    }

    @Override
    public void open(OpenContext context) throws Exception {
        log = new LatencyLog(Path.of(folder), "work", getRuntimeContext().getTaskInfo().getIndexOfThisSubtask());
        String[] names = {"events", "numbers", "squares"};
        for (int at = 0; at < names.length; at++) {
            int place = at;
            getRuntimeContext().getMetricGroup().gauge(names[at], (Gauge<Long>) () -> sums[place]);
        }
    }

    @Override
    public byte[] map(byte[] event) throws Exception {
        Computing.perform(workNanos);
        ByteBuffer fields = ByteBuffer.wrap(event);
        long number = fields.getLong();
        sums[0] += 1;
        sums[1] += number;
        sums[2] += number * number;
        log.add(fields.getLong());
        return event;
    }

    @Override
    public void snapshotState(FunctionSnapshotContext context) throws Exception {
        kept.update(List.of(sums.clone()));
    }

    @Override
    public void initializeState(FunctionInitializationContext context) throws Exception {
        kept = context.getOperatorStateStore().getListState(new ListStateDescriptor<>("sums", long[].class));
        for (long[] each : kept.get()) {
            for (int at = 0; at < sums.length; at++) {
                sums[at] += each[at];
            }
        }
    }

    @Override
    public void close() throws Exception {
        if (log != null) {
            log.close();
        }
    }
}
