package paced;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;

/**
 * Computes until the thread has used so much processor time. So many records a core second are known exactly, on a
 * machine whose speed changes as well, and whatever the compiler makes of the work.
 */
public final class Computing {

    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();

    private Computing() {}

    public static void perform(long nanos) {
        long until = THREADS.getCurrentThreadCpuTime() + nanos;
        while (THREADS.getCurrentThreadCpuTime() < until) {
            Thread.onSpinWait();
        }
    }
}
