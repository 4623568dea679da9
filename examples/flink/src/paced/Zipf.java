package paced;

import java.io.Serializable;
import java.util.Arrays;
import java.util.SplittableRandom;

/** Numbers from 0 on by Zipf's law: i with a weight of 1 / (i + 1)^skew; even ones for a skew of 0. */
public final class Zipf implements Serializable {

    private final double[] cumulativeShares;

    public Zipf(int numbers, double skew) {
        cumulativeShares = new double[numbers];
        double sum = 0;
        for (int i = 0; i < numbers; i++) {
            sum += Math.pow(i + 1.0, -skew);
            cumulativeShares[i] = sum;
        }
        for (int i = 0; i < numbers; i++) {
            cumulativeShares[i] /= sum;
        }
    }

    public int next(SplittableRandom random) {
        int at = Arrays.binarySearch(cumulativeShares, random.nextDouble());
        return Math.min(at < 0 ? -at - 1 : at, cumulativeShares.length - 1);
    }
}
