package paced;

import java.util.ArrayList;
import java.util.Collection;
import org.apache.flink.api.connector.source.SplitEnumerator;
import org.apache.flink.api.connector.source.SplitEnumeratorContext;
import org.apache.flink.api.connector.source.lib.NumberSequenceSource;
import org.apache.flink.api.connector.source.lib.util.IteratorSourceEnumerator;

/**
 * Numbers from 0 on, one for each record of a source, in 128 splits whatever the parallelism. The usual source makes
 * one split per subtask of its first start, so a source that is scaled up later would have idle subtasks.
 */
public final class ManySplits extends NumberSequenceSource {

    private static final int SPLITS = 128;

    public ManySplits() {
        super(0, Long.MAX_VALUE - 1);
    }

    @Override
    public SplitEnumerator<NumberSequenceSplit, Collection<NumberSequenceSplit>> createEnumerator(
            SplitEnumeratorContext<NumberSequenceSplit> context) {
        return new IteratorSourceEnumerator<>(context, new ArrayList<>(splitNumberRange(getFrom(), getTo(), SPLITS)));
    }
}
