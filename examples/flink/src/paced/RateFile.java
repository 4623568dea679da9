package paced;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * A rate in records per second that may change while the job runs: the number in a file, read every 200 ms. While the
 * file is absent or holds no number, the last rate stays; without a file, the first.
 */
public final class RateFile {

    public static final long READ_EVERY_NANOS = 200_000_000;

    private final Path file;
    private double ratePerSecond;
    private long readAt = System.nanoTime() - READ_EVERY_NANOS;

    /** file: its path, empty for none. */
    public RateFile(double ratePerSecond, String file) {
        this.ratePerSecond = ratePerSecond;
        this.file = file.isEmpty() ? null : Path.of(file);
    }

    public double perSecond() {
        long now = System.nanoTime();
        if (file != null && now - readAt >= READ_EVERY_NANOS) {
            readAt = now;
            try {
                ratePerSecond = Math.max(0, Double.parseDouble(Files.readString(file).trim()));
            } catch (IOException | NumberFormatException unreadable) {
                return ratePerSecond;
            }
        }
        return ratePerSecond;
    }
}
