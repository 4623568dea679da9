package modeled;

import java.io.IOException;
import java.io.Serializable;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collection;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.apache.flink.api.connector.source.Boundedness;
import org.apache.flink.api.connector.source.ReaderOutput;
import org.apache.flink.api.connector.source.Source;
import org.apache.flink.api.connector.source.SourceReader;
import org.apache.flink.api.connector.source.SourceReaderContext;
import org.apache.flink.api.connector.source.SplitEnumerator;
import org.apache.flink.api.connector.source.SplitEnumeratorContext;
import org.apache.flink.api.connector.source.lib.NumberSequenceSource.NumberSequenceSplit;
import org.apache.flink.api.connector.source.lib.util.IteratorSourceReaderBase;
import org.apache.flink.core.io.InputStatus;
import org.apache.flink.core.io.SimpleVersionedSerializer;
import org.apache.flink.metrics.Counter;
import org.apache.flink.util.NumberSequenceIterator;
import paced.ManySplits;
import paced.RateFile;
import paced.ScheduleFile;

/**
 * Poisson arrivals at the rate in a file, shared evenly by the subtasks. Each item carries its due time, not the time
 * when it was let through: its wait at the source under backpressure is part of its latency. The schedule begins anew,
 * without a backlog, whenever the rate changes or the job is restarted.
 *
 * <p>With a {@link ScheduleFile} beside that file, items are due by the schedule instead, in even gaps. Items that are
 * not taken in wait, as in a log; items taken in after the last checkpoint are taken in again after a restart. Each
 * item that is taken in is logged in the folder {@code taken} there. Such a source has one subtask.
 *
 * <p>{@code pendingRecords} is the number of items that are due and not taken in, of Poisson arrivals beyond 1000 the
 * expected number; {@code numRecordsIn} those taken in.
 */
public final class Arrivals<T> implements Source<T, NumberSequenceSplit, Collection<NumberSequenceSplit>> {

    /** Makes the item of a number, due at that time. */
    public interface Maker<T> extends Serializable {
        T make(long number, long dueMicros);
    }

    private static final long GAPS = 1;

    /** Waiting items that are counted one by one. Millions would take more CPU at each look than the items themselves. */
    private static final long COUNTED = 1000;

    private final ManySplits numbers = new ManySplits();
    private final String folder;
    private final String name;
    private final long seed;
    private final Maker<T> maker;
    private final long pollNanos;

    /** folder: of the files. Each item is taken in when it is due. */
    public Arrivals(String folder, String name, long seed, Maker<T> maker) {
        this(folder, name, seed, maker, 0);
    }

    /** pollMicros: how long it rests after it took in all that was due, as the clients of a log do. */
    public Arrivals(String folder, String name, long seed, Maker<T> maker, long pollMicros) {
        this.folder = folder;
        this.name = name;
        this.seed = seed;
        this.maker = maker;
        this.pollNanos = pollMicros * 1000;
    }

    @Override
    public Boundedness getBoundedness() {
        return numbers.getBoundedness();
    }

    @Override
    public SplitEnumerator<NumberSequenceSplit, Collection<NumberSequenceSplit>> createEnumerator(
            SplitEnumeratorContext<NumberSequenceSplit> context) {
        return numbers.createEnumerator(context);
    }

    @Override
    public SplitEnumerator<NumberSequenceSplit, Collection<NumberSequenceSplit>> restoreEnumerator(
            SplitEnumeratorContext<NumberSequenceSplit> context, Collection<NumberSequenceSplit> splits) {
        return numbers.restoreEnumerator(context, splits);
    }

    @Override
    public SimpleVersionedSerializer<NumberSequenceSplit> getSplitSerializer() {
        return numbers.getSplitSerializer();
    }

    @Override
    public SimpleVersionedSerializer<Collection<NumberSequenceSplit>> getEnumeratorCheckpointSerializer() {
        return numbers.getEnumeratorCheckpointSerializer();
    }

    @Override
    public SourceReader<T, NumberSequenceSplit> createReader(SourceReaderContext context) {
        Path schedule = Path.of(folder, name + ".schedule");
        return Files.exists(schedule) ? new Scheduled(context, new ScheduleFile(schedule)) : new Poisson(context);
    }

    private abstract class Reader
            extends IteratorSourceReaderBase<Long, T, NumberSequenceIterator, NumberSequenceSplit> {

        volatile long next = -1; // number of the next item, below 0 before there is a split
        private final Counter taken;

        Reader(SourceReaderContext context) {
            super(context);
            taken = context.metricGroup().getIOMetricGroup().getNumRecordsInCounter();
            context.metricGroup().setPendingRecordsGauge(this::pending);
        }

        /** Microseconds until the next item is due, below 0 where it is late. */
        abstract double leftMicros();

        /** Number of items due and not taken in; next is the first of them. The task may be held back meanwhile. */
        abstract long waiting(long next);

        private long pending() {
            long first = next;
            return first < 0 ? 0 : waiting(first);
        }

        @Override
        public void addSplits(List<NumberSequenceSplit> splits) {
            if (next < 0) {
                next = splits.get(0).from(); // one at a time, and it never ends
            }
            super.addSplits(splits);
        }

        @Override
        protected T convert(Long number) {
            T item = maker.make(number, takenMicros(number));
            next = number + 1;
            taken.inc();
            return item;
        }

        /** Takes in an item; returns when it was due. */
        abstract long takenMicros(long number);

        @Override
        public InputStatus pollNext(ReaderOutput<T> output) {
            return leftMicros() > 0 ? InputStatus.NOTHING_AVAILABLE : super.pollNext(output);
        }

        @Override
        public CompletableFuture<Void> isAvailable() {
            CompletableFuture<Void> splits = super.isAvailable();
            double left = leftMicros();
            if (!splits.isDone() || left <= 0) {
                return splits;
            }
            // Wait no longer than until the next read of the file: the rate may have grown meanwhile.
            long nanos = Math.max(pollNanos, (long) Math.min(left * 1000, RateFile.READ_EVERY_NANOS));
            return new CompletableFuture<Void>().completeOnTimeout(null, nanos, TimeUnit.NANOSECONDS);
        }
    }

    private final class Poisson extends Reader {

        private final RateFile file = new RateFile(0, folder + "/" + name + ".rate");
        private final SourceReaderContext context;
        private volatile double ratePerSecond;
        private volatile double dueMicros = Double.POSITIVE_INFINITY;

        Poisson(SourceReaderContext context) {
            super(context);
            this.context = context;
        }

        @Override
        long takenMicros(long number) {
            double due = dueMicros;
            dueMicros = due + gapMicros(Draws.of(Draws.mix(number, seed), GAPS));
            return (long) due;
        }

        @Override
        long waiting(long next) {
            long now = Clock.micros();
            long number = next;
            double due = dueMicros;
            for (; due <= now && number - next < COUNTED; number++) {
                due += gapMicros(Draws.of(Draws.mix(number, seed), GAPS));
            }
            return number - next + (due <= now ? (long) ((now - due) * ratePerSecond / 1e6) : 0);
        }

        @Override
        double leftMicros() {
            long now = Clock.micros();
            double told = file.perSecond() / context.currentParallelism();
            if (told != ratePerSecond) {
                ratePerSecond = told;
                dueMicros = now + gapMicros(Draws.of(now, seed));
            }
            return dueMicros - now;
        }

        private double gapMicros(SplittableRandom random) {
            return ratePerSecond > 0 ? 1e6 * Draws.exponential(random) / ratePerSecond : Double.POSITIVE_INFINITY;
        }
    }

    private final class Scheduled extends Reader {

        private final ScheduleFile schedule;
        private final LatencyLog log;

        Scheduled(SourceReaderContext context, ScheduleFile schedule) {
            super(context);
            if (context.currentParallelism() != 1) {
                throw new IllegalArgumentException(
                        "source " + name + " follows a schedule: give it a parallelism of 1, not "
                                + context.currentParallelism());
            }
            this.schedule = schedule;
            try {
                log = new LatencyLog(Path.of(folder, "taken"), name, 0);
            } catch (IOException error) {
                throw new UncheckedIOException(error);
            }
        }

        @Override
        long takenMicros(long number) {
            long due = (long) schedule.dueMicros(number);
            try {
                log.add(due);
            } catch (IOException error) {
                throw new UncheckedIOException(error);
            }
            return due;
        }

        @Override
        long waiting(long next) {
            return Math.max(0, schedule.dueBefore(Clock.micros()) - next);
        }

        @Override
        double leftMicros() {
            return schedule.dueMicros(next) - Clock.micros();
        }

        @Override
        public void close() throws Exception {
            log.close();
            super.close();
        }
    }
}
