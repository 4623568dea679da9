package wordcount;

import java.util.Arrays;
import java.util.SplittableRandom;
import org.apache.flink.connector.datagen.source.GeneratorFunction;

/**
 * The n-th sentence, the same in every run: words "w0", "w1" … drawn by Zipf's law, word i with a weight of
 * 1 / (i + 1)^skew.
 */
final class Words implements GeneratorFunction<Long, String> {

    private final int wordsPerSentence;
    private final double[] cumulativeShares;

    Words(int wordsPerSentence, int vocabulary, double skew) {
        this.wordsPerSentence = wordsPerSentence;
        cumulativeShares = new double[vocabulary];
        double sum = 0;
        for (int i = 0; i < vocabulary; i++) {
            sum += Math.pow(i + 1.0, -skew);
            cumulativeShares[i] = sum;
        }
        for (int i = 0; i < vocabulary; i++) {
            cumulativeShares[i] /= sum;
        }
    }

    @Override
    public String map(Long number) {
        SplittableRandom random = new SplittableRandom(number);
        StringBuilder sentence = new StringBuilder();
        for (int i = 0; i < wordsPerSentence; i++) {
            int at = Arrays.binarySearch(cumulativeShares, random.nextDouble());
            sentence.append(i == 0 ? "w" : " w").append(Math.min(at < 0 ? -at - 1 : at, cumulativeShares.length - 1));
        }
        return sentence.toString();
    }
}
