package modeled;

import java.util.SplittableRandom;
import paced.Zipf;

/** Random numbers that follow from an item's id alone: an item costs the same in every run, whatever the plan. */
final class Draws {

    private static final long KEYS = 2;

    private Draws() {}

    static long mix(long id, long salt) {
        long z = id * 0x9E3779B97F4A7C15L + salt * 0xD1B54A32D192ED03L + 0x8CB92BA72F3D8DD7L;
        z = (z ^ (z >>> 30)) * 0xBF58476D1CE4E5B9L;
        z = (z ^ (z >>> 27)) * 0x94D049BB133111EBL;
        return z ^ (z >>> 31);
    }

    static SplittableRandom of(long id, long salt) {
        return new SplittableRandom(mix(id, salt));
    }

    static String key(long id, Zipf keys) {
        return "k" + keys.next(of(id, KEYS));
    }

    static double exponential(SplittableRandom random) {
        return -Math.log(1 - random.nextDouble());
    }

    /** Erlang of mean 1: a sum of phases, whose squared coefficient of variation is 1 / phases. Always 1 for 0 phases. */
    static double erlang(SplittableRandom random, int phases) {
        double sum = phases == 0 ? 1 : 0;
        for (int i = 0; i < phases; i++) {
            sum += exponential(random) / phases;
        }
        return sum;
    }

    /** A whole number of that mean: the one below or the one above. */
    static int whole(SplittableRandom random, double mean) {
        int below = (int) mean;
        return below + (random.nextDouble() < mean - below ? 1 : 0);
    }
}
