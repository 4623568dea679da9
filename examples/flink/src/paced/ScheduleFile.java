package paced;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/**
 * Due times of a source's records, by the rates in a file: lines {@code from-micros rate-per-second}, in the order of
 * time (microseconds since the epoch). Nothing is due before the first line; the last line holds from then on. The file
 * is read every 200 ms. Lines may be added for future times: earlier due times stay, whether or not the job was down.
 * Thread-safe.
 */
public final class ScheduleFile {

    private final Path file;
    private long[] fromMicros = {};
    private double[] perMicro = {};
    private double[] dueBefore = {};
    private long readAt = System.nanoTime() - RateFile.READ_EVERY_NANOS;

    public ScheduleFile(Path file) {
        this.file = file;
    }

    /** Due time in microseconds since the epoch; infinite if the rates so far never get there. number: from 0 on. */
    public synchronized double dueMicros(long number) {
        read();
        for (int phase = fromMicros.length - 1; phase >= 0; phase--) {
            double left = number + 1 - dueBefore[phase];
            if (left > 0) {
                double due = perMicro[phase] > 0 ? fromMicros[phase] + left / perMicro[phase] : Double.POSITIVE_INFINITY;
                return phase + 1 < fromMicros.length ? Math.min(due, fromMicros[phase + 1]) : due;
            }
        }
        return Double.POSITIVE_INFINITY;
    }

    /** How many records are due by a moment, in microseconds since the epoch. */
    public synchronized long dueBefore(long micros) {
        read();
        for (int phase = fromMicros.length - 1; phase >= 0; phase--) {
            if (micros >= fromMicros[phase]) {
                return (long) (dueBefore[phase] + perMicro[phase] * (micros - fromMicros[phase]));
            }
        }
        return 0;
    }

    private void read() {
        long now = System.nanoTime();
        if (now - readAt < RateFile.READ_EVERY_NANOS) {
            return;
        }
        readAt = now;
        try {
            List<String> lines = Files.readAllLines(file);
            long[] from = new long[lines.size()];
            double[] rate = new double[lines.size()];
            double[] before = new double[lines.size()];
            for (int phase = 0; phase < from.length; phase++) {
                String[] part = lines.get(phase).split(" ");
                from[phase] = Long.parseLong(part[0]);
                rate[phase] = Double.parseDouble(part[1]) / 1e6;
                before[phase] =
                        phase == 0 ? 0 : before[phase - 1] + rate[phase - 1] * (from[phase] - from[phase - 1]);
            }
            fromMicros = from;
            perMicro = rate;
            dueBefore = before;
        } catch (IOException | NumberFormatException | ArrayIndexOutOfBoundsException unreadable) {
            // The last rates read stay.
        }
    }
}
