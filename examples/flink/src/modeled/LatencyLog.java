package modeled;

import java.io.BufferedOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * A file of one subtask of a sink: for each item its due time (8 bytes, microseconds since the epoch) and the time from
 * then to the end of its last service (4 bytes, microseconds), big-endian. Flushed every 200 ms while items come.
 */
public final class LatencyLog implements AutoCloseable {

    private static final long WRITE_EVERY_MICROS = 200_000;

    private final DataOutputStream out;
    private long writtenAtMicros = Clock.micros();

    public LatencyLog(Path folder, String operator, int subtask) throws IOException {
        Files.createDirectories(folder);
        Path file = folder.resolve(operator + "-" + subtask + "-" + Clock.micros() + ".latencies");
        out = new DataOutputStream(new BufferedOutputStream(Files.newOutputStream(file), 1 << 16));
    }

    public void add(long dueMicros) throws IOException {
        long now = Clock.micros();
        out.writeLong(dueMicros);
        out.writeInt((int) Math.min(Math.max(0, now - dueMicros), Integer.MAX_VALUE));
        if (now - writtenAtMicros >= WRITE_EVERY_MICROS) {
            writtenAtMicros = now;
            out.flush();
        }
    }

    @Override
    public void close() throws IOException {
        out.close();
    }
}
