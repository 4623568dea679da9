package race;

import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.Map;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.typeinfo.PrimitiveArrayTypeInfo;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.connector.kafka.source.KafkaSource;
import org.apache.flink.connector.kafka.source.enumerator.initializer.OffsetsInitializer;
import org.apache.flink.connector.kafka.source.reader.deserializer.KafkaRecordDeserializationSchema;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;
import org.apache.flink.util.Collector;
import org.apache.flink.util.ParameterTool;
import org.apache.kafka.clients.consumer.ConsumerRecord;

/** Reads events of a Kafka topic and computes for each of them, on slots of its own. */
public final class Race {

    /** Of a record between two operators: one fills a buffer, so that events wait in Kafka and not in Flink. */
    static final int PADDED_BYTES = 4000;

    /** Events that the reader takes at once: what it has taken is no backlog to Flink, however long it waits. */
    static final String TAKEN_AT_ONCE = "8";

    /** The source learns how many events wait when it fetches: by default a MiB, which it works on for minutes here. */
    static final String FETCHED_BYTES = "1000";

    private Race() {}

    public static void main(String[] arguments) throws Exception {
        Map<String, String> given = ParameterTool.fromArgs(arguments).toMap();
        StreamExecutionEnvironment job = StreamExecutionEnvironment.getExecutionEnvironment();
        job.setBufferTimeout(0);
        KafkaSource<byte[]> events =
                KafkaSource.<byte[]>builder()
                        .setBootstrapServers(given.get("servers"))
                        .setTopics(given.get("topic"))
                        .setGroupId(given.get("job-name"))
                        .setStartingOffsets(OffsetsInitializer.timestamp(Long.parseLong(given.get("from-ms"))))
                        .setProperty("max.poll.records", TAKEN_AT_ONCE)
                        .setProperty("max.partition.fetch.bytes", FETCHED_BYTES)
                        .setProperty("source.reader.element.queue.capacity", "1")
                        .setDeserializer(new Padded())
                        .build();
        job.fromSource(events, WatermarkStrategy.noWatermarks(), "read")
                .slotSharingGroup("read")
                .rebalance()
                .map(new Work(Long.parseLong(given.get("work-us")), Path.of(given.get("latencies")).toString()))
                .name("work")
                .slotSharingGroup("work")
                .sinkTo(new DiscardingSink<>())
                .slotSharingGroup("work");
        job.execute(given.get("job-name"));
    }

    private static final class Padded implements KafkaRecordDeserializationSchema<byte[]> {

        @Override
        public void deserialize(ConsumerRecord<byte[], byte[]> read, Collector<byte[]> out) {
            out.collect(ByteBuffer.allocate(PADDED_BYTES).put(read.value()).array());
        }

        @Override
        public TypeInformation<byte[]> getProducedType() {
            return PrimitiveArrayTypeInfo.BYTE_PRIMITIVE_ARRAY_TYPE_INFO;
        }
    }
}
