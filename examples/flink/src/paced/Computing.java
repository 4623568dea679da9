package paced;

/** Arithmetic that takes about so long on a core of its own: the same work for every record, however busy the machine. */
public final class Computing {

    private static final long ROUNDS_PER_MILLI = 200_000;

    /** Where results end, so that no compiler drops the work. */
    private static volatile long sink;

    private Computing() {}

    public static void perform(long nanos) {
        long mixed = nanos;
        for (long left = nanos * ROUNDS_PER_MILLI / 1_000_000; left > 0; left--) {
            mixed = (mixed ^ (mixed >>> 30)) * 0xBF58476D1CE4E5B9L;
        }
        sink = mixed;
    }
}
