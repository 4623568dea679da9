package paced;

import java.io.Serializable;
import java.util.concurrent.locks.LockSupport;

/**
 * Keeps a task busy for a known time per record without burning CPU, so that a machine with few cores can run many
 * instances.
 *
 * <p>A sleep always ends late, by some 60 µs and by milliseconds on a loaded machine. The excess is taken off the
 * following records' time, so the mean stays exact. Records sleep in batches of a millisecond or more, because every
 * sleep costs some 10 µs of CPU.
 */
public final class SteadyWork implements Serializable {

    private static final long BATCH_NANOS = 1_000_000;
    private static final long MOST_CREDIT_NANOS = 50_000_000;

    private final long perRecordNanos;
    private transient long owedNanos;

    private SteadyWork(long perRecordNanos) {
        this.perRecordNanos = perRecordNanos;
    }

    /** The same time for every record. */
    public static SteadyWork ofMillis(double millis) {
        return new SteadyWork(Math.round(millis * 1_000_000));
    }

    /** A time of each record's own, given to {@link #perform(long)}. */
    public static SteadyWork ofEachRecord() {
        return new SteadyWork(0);
    }

    public void perform() {
        perform(perRecordNanos);
    }

    public void perform(long nanos) {
        owedNanos += nanos;
        if (owedNanos < BATCH_NANOS) {
            return;
        }
        long start = System.nanoTime();
        long end = start + owedNanos;
        for (long left = owedNanos; left > 0; left = end - System.nanoTime()) {
            LockSupport.parkNanos(left);
        }
        owedNanos = Math.max(owedNanos - (System.nanoTime() - start), -MOST_CREDIT_NANOS);
    }
}
