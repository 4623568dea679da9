package nexmark;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import modeled.Arrivals;
import modeled.LatencyLog;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.ProcessFunction;
import org.apache.flink.table.api.Schema;
import org.apache.flink.table.api.bridge.java.StreamTableEnvironment;
import org.apache.flink.types.Row;
import org.apache.flink.util.Collector;

/**
 * One query of Flink SQL over the events of an auction site, whose rate is the number in a file. Vertices are chained as
 * Flink chains them.
 *
 * <p>Arguments, each {@code --name value}: query (a file: one SELECT over events, person, auction and bid), rates (a
 * folder with {@code events.rate}), latencies (the folder of the sinks' {@link LatencyLog}s, for a query with a column
 * {@code due}), state-ttl-s, job-name.
 */
public final class Nexmark {

    /** Waking up for each event would cost more than most events. */
    private static final long POLL_MICROS = 5_000;

    private static final String[] VIEWS = {
        "CREATE TEMPORARY VIEW person AS SELECT person.id AS id, person.name AS name, person.emailAddress AS emailAddress,"
                + " person.creditCard AS creditCard, person.city AS city, person.state AS state, ts, due"
                + " FROM events WHERE kind = " + Events.PERSON,
        "CREATE TEMPORARY VIEW auction AS SELECT auction.id AS id, auction.itemName AS itemName, auction.description AS"
                + " description, auction.initialBid AS initialBid, auction.reserve AS reserve, auction.expires AS expires,"
                + " auction.seller AS seller, auction.category AS category, ts, due"
                + " FROM events WHERE kind = " + Events.AUCTION,
        "CREATE TEMPORARY VIEW bid AS SELECT bid.auction AS auction, bid.bidder AS bidder, bid.price AS price,"
                + " bid.channel AS channel, bid.url AS url, ts, due FROM events WHERE kind = " + Events.BID,
    };

    public static void main(String[] args) throws Exception {
        Map<String, String> given = new HashMap<>();
        for (int i = 0; i + 1 < args.length; i += 2) {
            given.put(args[i].substring(2), args[i + 1]);
        }
        StreamExecutionEnvironment env = StreamExecutionEnvironment.getExecutionEnvironment();
        StreamTableEnvironment tables = StreamTableEnvironment.create(env);
        tables.getConfig().set("table.exec.state.ttl", given.get("state-ttl-s") + " s");
        tables.getConfig().set("table.local-time-zone", "UTC");
        DataStream<Row> events =
                env.fromSource(
                        new Arrivals<>(given.get("rates"), "events", 1, new Events(), POLL_MICROS),
                        WatermarkStrategy.noWatermarks(),
                        "events",
                        Events.TYPE);
        Schema schema =
                Schema.newBuilder()
                        .columnByExpression("ts", "CAST(takenIn AS TIMESTAMP_LTZ(3))")
                        .watermark("ts", "ts - INTERVAL '1' SECOND")
                        .build();
        tables.createTemporaryView("events", events, schema);
        for (String view : VIEWS) {
            tables.executeSql(view);
        }
        DataStream<Row> results = tables.toChangelogStream(tables.sqlQuery(Files.readString(Path.of(given.get("query")))));
        results.process(new Sink(given.get("latencies"))).name("results");
        env.execute(given.get("job-name"));
    }

    /** Logs the latency of each result that says when its newest event was due. */
    private static final class Sink extends ProcessFunction<Row, Void> {

        private final String folder;
        private transient LatencyLog log;
        private transient Boolean dated;

        Sink(String folder) {
            this.folder = folder;
        }

        @Override
        public void open(OpenContext context) throws Exception {
            log = new LatencyLog(Path.of(folder), "results", getRuntimeContext().getTaskInfo().getIndexOfThisSubtask());
        }

        @Override
        public void processElement(Row row, Context context, Collector<Void> out) throws Exception {
            if (dated == null) {
                dated = row.getFieldNames(true).contains("due");
            }
            if (dated) {
                log.add(row.<Long>getFieldAs("due"));
            }
        }

        @Override
        public void close() throws Exception {
            if (log != null) {
                log.close();
            }
        }
    }

    private Nexmark() {}
}
