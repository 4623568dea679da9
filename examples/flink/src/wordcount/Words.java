package wordcount;

import java.util.SplittableRandom;
import org.apache.flink.connector.datagen.source.GeneratorFunction;
import paced.Zipf;

/** The n-th sentence, the same in every run: words "w0", "w1" … drawn by Zipf's law. */
final class Words implements GeneratorFunction<Long, String> {

    private final int wordsPerSentence;
    private final Zipf vocabulary;

    Words(int wordsPerSentence, int vocabulary, double skew) {
        this.wordsPerSentence = wordsPerSentence;
        this.vocabulary = new Zipf(vocabulary, skew);
    }

    @Override
    public String map(Long number) {
        SplittableRandom random = new SplittableRandom(number);
        StringBuilder sentence = new StringBuilder();
        for (int i = 0; i < wordsPerSentence; i++) {
            sentence.append(i == 0 ? "w" : " w").append(vocabulary.next(random));
        }
        return sentence.toString();
    }
}
