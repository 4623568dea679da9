package wordcount;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import org.apache.flink.api.connector.source.lib.NumberSequenceSource.NumberSequenceSplit;
import org.apache.flink.api.connector.source.util.ratelimit.RateLimiter;
import org.apache.flink.api.connector.source.util.ratelimit.RateLimiterStrategy;
import paced.RateFile;

/**
 * The rate of the whole source in sentences per second, shared evenly by its subtasks. If a file is given, it is read
 * every 200 ms and contains the rate; while it is absent or holds no number, the last rate stays.
 */
final class RateSchedule implements RateLimiterStrategy<NumberSequenceSplit> {

    private final double ratePerSecond;
    private final String file;

    RateSchedule(double ratePerSecond, String file) {
        this.ratePerSecond = ratePerSecond;
        this.file = file;
    }

    @Override
    public RateLimiter<NumberSequenceSplit> createRateLimiter(int parallelism) {
        return new Limiter(new RateFile(ratePerSecond, file), parallelism);
    }

    private static final class Limiter implements RateLimiter<NumberSequenceSplit> {

        private static final long MOST_CREDIT_NANOS = 50_000_000; // what a late wake-up may catch up on

        private final RateFile rate;
        private final int parallelism;
        private long lastAt = System.nanoTime();

        Limiter(RateFile rate, int parallelism) {
            this.rate = rate;
            this.parallelism = parallelism;
        }

        @Override
        public synchronized CompletionStage<Void> acquire(int records) {
            CompletableFuture<Void> granted = new CompletableFuture<>();
            lastAt = Math.max(lastAt, System.nanoTime() - MOST_CREDIT_NANOS);
            grant(granted, records);
            return granted;
        }

        private synchronized void grant(CompletableFuture<Void> granted, int records) {
            long now = System.nanoTime();
            double intervalNanos = 1e9 * parallelism * records / rate.perSecond(); // infinite while the rate is 0
            long nextAt = lastAt + (long) Math.min(intervalNanos, 1e15);
            if (nextAt <= now) {
                lastAt = nextAt;
                granted.complete(null);
                return;
            }
            // Wait no longer than until the next read of the file: the rate may have grown meanwhile.
            long waitNanos = Math.min(nextAt - now, RateFile.READ_EVERY_NANOS);
            CompletableFuture.delayedExecutor(waitNanos, TimeUnit.NANOSECONDS).execute(() -> grant(granted, records));
        }
    }
}
