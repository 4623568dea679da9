package modeled;

import java.time.Instant;

/** Microseconds since the epoch, on the machine's clock. */
public final class Clock {

    private Clock() {}

    public static long micros() {
        Instant now = Instant.now();
        return now.getEpochSecond() * 1_000_000 + now.getNano() / 1_000;
    }
}
