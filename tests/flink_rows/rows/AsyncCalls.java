package rows;

import java.util.Collections;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import modeled.Arrivals;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.streaming.api.datastream.AsyncDataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.async.AsyncFunction;
import org.apache.flink.streaming.api.functions.async.ResultFuture;
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;

/** Asynchronous calls to another system: each item waits 100 ms for its answer, ten at once an instance. */
public final class AsyncCalls {

    private static final int CAPACITY = 10;
    private static final long CALL_MILLIS = 100;

    public static void main(String[] args) throws Exception {
        StreamExecutionEnvironment env = StreamExecutionEnvironment.getExecutionEnvironment();
        env.disableOperatorChaining();
        Arrivals<Long> arrivals = new Arrivals<>(args[1], "items", 1, (number, dueMicros) -> number);
        var items = env.fromSource(arrivals, WatermarkStrategy.noWatermarks(), "items", Types.LONG);
        AsyncDataStream.orderedWait(items.rebalance(), new Call(), 60, TimeUnit.SECONDS, CAPACITY)
                .returns(Types.LONG)
                .name("call")
                .sinkTo(new DiscardingSink<>())
                .name("store");
        env.execute(args[3]);
    }

    private static final class Call implements AsyncFunction<Long, Long> {
        @Override
        public void asyncInvoke(Long item, ResultFuture<Long> result) {
            CompletableFuture.delayedExecutor(CALL_MILLIS, TimeUnit.MILLISECONDS)
                    .execute(() -> result.complete(Collections.singleton(item)));
        }
    }

    private AsyncCalls() {}
}
