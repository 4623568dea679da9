package modeled;

import java.util.Collection;
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
import org.apache.flink.util.NumberSequenceIterator;
import paced.ManySplits;
import paced.RateFile;
import paced.Zipf;

/**
 * Poisson arrivals at the rate that a file holds, shared evenly by the subtasks. Each item says when it was due, not when
 * it was let through: what it waits at the source under backpressure is part of its latency. The schedule begins anew, with
 * nothing behind, whenever the rate changes or the job is restarted.
 */
final class Arrivals implements Source<Item, NumberSequenceSplit, Collection<NumberSequenceSplit>> {

    private static final long GAPS = 1;

    private final ManySplits numbers = new ManySplits();
    private final String rateFile;
    private final Zipf keys;
    private final long seed;
    private final int stream;

    /** stream: number of the one that it gives out on. */
    Arrivals(String rateFile, Zipf keys, long seed, int stream) {
        this.rateFile = rateFile;
        this.keys = keys;
        this.seed = seed;
        this.stream = stream;
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
    public SourceReader<Item, NumberSequenceSplit> createReader(SourceReaderContext context) {
        return new Reader(context);
    }

    private final class Reader
            extends IteratorSourceReaderBase<Long, Item, NumberSequenceIterator, NumberSequenceSplit> {

        private final RateFile file = new RateFile(0, rateFile);
        private final SourceReaderContext context;
        private double ratePerSecond;
        private double dueMicros = Double.POSITIVE_INFINITY;

        Reader(SourceReaderContext context) {
            super(context);
            this.context = context;
        }

        @Override
        public InputStatus pollNext(ReaderOutput<Item> output) {
            return leftMicros() > 0 ? InputStatus.NOTHING_AVAILABLE : super.pollNext(output);
        }

        @Override
        public CompletableFuture<Void> isAvailable() {
            CompletableFuture<Void> splits = super.isAvailable();
            double left = leftMicros();
            if (!splits.isDone() || left <= 0) {
                return splits;
            }
            // Not longer than until the next look into the file: the rate may have grown meanwhile.
            long nanos = (long) Math.min(left * 1000, RateFile.READ_EVERY_NANOS);
            return new CompletableFuture<Void>().completeOnTimeout(null, nanos, TimeUnit.NANOSECONDS);
        }

        @Override
        protected Item convert(Long number) {
            long due = (long) dueMicros;
            long id = Draws.mix(number, seed);
            dueMicros += gapMicros(Draws.of(id, GAPS));
            return new Item(id, due, Draws.key(id, keys), stream);
        }

        /** Microseconds until the next item is due, below 0 where it is late. */
        private double leftMicros() {
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
}
