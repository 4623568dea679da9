package org.apache.flink.autoscaler;

import com.sun.net.httpserver.HttpServer;
import io.forescale.flink.PlannedRealizer;
import io.forescale.flink.ServedPlan;
import io.forescale.flink.Vertices;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.reflect.Field;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import org.apache.flink.api.common.JobID;
import org.apache.flink.api.common.JobStatus;
import org.apache.flink.autoscaler.config.AutoScalerOptions;
import org.apache.flink.autoscaler.event.AutoScalerEventHandler;
import org.apache.flink.autoscaler.metrics.FlinkMetric;
import org.apache.flink.autoscaler.realizer.ScalingRealizer;
import org.apache.flink.autoscaler.state.AutoScalerStateStore;
import org.apache.flink.autoscaler.state.InMemoryAutoScalerStateStore;
import org.apache.flink.autoscaler.topology.IOMetrics;
import org.apache.flink.autoscaler.topology.JobTopology;
import org.apache.flink.autoscaler.topology.ShipStrategy;
import org.apache.flink.autoscaler.topology.VertexInfo;
import org.apache.flink.autoscaler.tuning.ConfigChanges;
import org.apache.flink.configuration.ConfigOption;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.metrics.groups.UnregisteredMetricsGroup;
import org.apache.flink.runtime.jobgraph.JobVertexID;
import org.apache.flink.runtime.rest.messages.job.JobDetailsInfo;
import org.apache.flink.runtime.rest.messages.job.metrics.AggregatedMetric;
import org.apache.flink.runtime.rest.messages.job.metrics.Metric;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.ObjectMapper;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.node.ArrayNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.node.ObjectNode;

/**
 * What Flink's autoscaler asks for, minute by minute: a case a line on stdin, its decisions a line on stdout.
 *
 * <p>In the library's package, whose clocks can be set from there alone. A case is {settings, down_minutes, failures,
 * vertices: [{name, parallelism, max_parallelism, partitions, inputs: {name: strategy}}], minutes: [{name: {records_in,
 * records_out, busy_ms, backpressured_ms, lag}}], plans: [text or null], hold_minutes}. With plans, decisions go through
 * our realizer, which gets the text of the minute over HTTP, and an error where it is null. With ms_per_record of its
 * vertices, a case tells arrivals of its source alone, {arrivals}: what is processed follows from the parallelism. The job runs from second 0 and is down for down_minutes after each
 * decision and from the start of each minute of failures. Decisions are [minute, {name: parallelism}]. With an
 * argument, it prints the defaults of all options instead.
 */
public final class AutoscalerCases {

    private static final ObjectMapper JSON = new ObjectMapper();
    private static final long MINUTE_S = 60;

    public static void main(String[] arguments) throws Exception {
        if (arguments.length > 0) {
            System.out.println(defaults());
            return;
        }
        var lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line; (line = lines.readLine()) != null; ) {
            System.out.println(new Job(JSON.readTree(line)).decisions());
        }
    }

    /** Of each option, durations in seconds. */
    private static ObjectNode defaults() throws IllegalAccessException {
        var all = JSON.createObjectNode();
        for (Field field : AutoScalerOptions.class.getFields()) {
            if (field.get(null) instanceof ConfigOption) {
                var option = (ConfigOption<?>) field.get(null);
                var value = option.defaultValue();
                all.put(option.key(), value instanceof Duration ? ((Duration) value).toSeconds() + " s" : "" + value);
            }
        }
        return all;
    }

    private static final class Job {
        private final JsonNode given;
        private final Map<String, JobVertexID> ids = new LinkedHashMap<>();
        private final Map<String, Integer> parallelism = new HashMap<>();
        private final Map<String, long[]> counted = new HashMap<>();
        private final SetClock clock = new SetClock();
        private final AutoScalerStateStore<JobID, JobAutoScalerContext<JobID>> store =
                new InMemoryAutoScalerStateStore<>();
        private final JobAutoScalerImpl<JobID, JobAutoScalerContext<JobID>> autoscaler;
        private Map<String, String> overrides = Map.of();
        private long runningSince = 0;
        private JsonNode minute;
        private HttpServer server;
        private long waiting = 0;

        Job(JsonNode given) throws Exception {
            this.given = given;
            for (var vertex : given.get("vertices")) {
                var name = vertex.get("name").asText();
                ids.put(name, new JobVertexID(0, ids.size()));
                parallelism.put(name, vertex.get("parallelism").asInt());
                counted.put(name, new long[2]);
            }
            var executor = new ScalingExecutor<JobID, JobAutoScalerContext<JobID>>(new Events(), store);
            Field scaler = ScalingExecutor.class.getDeclaredField("jobVertexScaler");
            scaler.setAccessible(true);
            ((JobVertexScaler<?, ?>) scaler.get(executor)).setClock(clock);
            var collector = new Collector();
            collector.setClock(clock);
            autoscaler = new JobAutoScalerImpl<>(
                    collector, new ScalingMetricEvaluator(), executor, new Events(), realizer(), store);
            autoscaler.setClock(clock);
        }

        private ScalingRealizer<JobID, JobAutoScalerContext<JobID>> realizer() throws Exception {
            if (!given.has("plans")) {
                return new Realizer();
            }
            server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
            server.createContext("/plan/job", exchange -> {
                var plan = given.get("plans").get((int) (clock.now.getEpochSecond() / MINUTE_S) - 1);
                var body = (plan.isNull() ? "nothing is known" : plan.asText()).getBytes(StandardCharsets.UTF_8);
                exchange.sendResponseHeaders(plan.isNull() ? 503 : 200, body.length);
                exchange.getResponseBody().write(body);
                exchange.close();
            });
            server.start();
            var address = URI.create("http://127.0.0.1:" + server.getAddress().getPort() + "/plan/job");
            Vertices<JobID, JobAutoScalerContext<JobID>> vertices = context -> {
                var all = new HashMap<String, Vertices.Vertex>();
                ids.forEach((name, id) -> all.put(id.toString(), new Vertices.Vertex(name, parallelism.get(name))));
                return all;
            };
            var hold = Duration.ofMinutes(given.get("hold_minutes").asLong());
            return new PlannedRealizer<>(new Realizer(), new ServedPlan(address, clock), vertices, hold, clock);
        }

        ArrayNode decisions() throws Exception {
            try {
                return decided();
            } finally {
                if (server != null) {
                    server.stop(0);
                }
            }
        }

        private ArrayNode decided() throws Exception {
            var decided = JSON.createArrayNode();
            var conf = new Configuration();
            given.get("settings").fields().forEachRemaining(e -> conf.setString(e.getKey(), e.getValue().asText()));
            conf.setString("job.autoscaler.enabled", "true");
            Set<Integer> failures = new HashSet<>();
            given.get("failures").forEach(each -> failures.add(each.asInt()));
            var down = given.get("down_minutes").asLong() * MINUTE_S;
            var id = new JobID(0, 0);
            for (int at = 0; at < given.get("minutes").size(); at++) {
                if (failures.contains(at)) {
                    runningSince = at * MINUTE_S + down;
                }
                minute = given.get("minutes").get(at);
                if (minute.has("arrivals")) {
                    minute = processed(minute.get("arrivals").asLong(), at * MINUTE_S >= runningSince);
                }
                counted.forEach((name, counts) -> {
                    counts[0] += minute.get(name).get("records_in").asLong();
                    counts[1] += minute.get(name).get("records_out").asLong();
                });
                clock.now = Instant.ofEpochSecond((at + 1) * MINUTE_S);
                var status = at * MINUTE_S >= runningSince ? JobStatus.RUNNING : JobStatus.RESTARTING;
                autoscaler.scale(new JobAutoScalerContext<>(
                        id, id, status, conf.clone(), new UnregisteredMetricsGroup(), () -> null));
                if (status == JobStatus.RUNNING && applied()) {
                    runningSince = (at + 1) * MINUTE_S + down;
                    decided.addArray().add(at).add(JSON.valueToTree(parallelism));
                }
            }
            return decided;
        }

        /** The minute of a chain whose source lets through what its vertices are able to. */
        private JsonNode processed(long arrivals, boolean running) {
            var capacity = Double.POSITIVE_INFINITY;
            for (var vertex : given.get("vertices")) {
                var count = parallelism.get(vertex.get("name").asText());
                capacity = Math.min(capacity, 1000 * MINUTE_S * count / vertex.get("ms_per_record").asDouble());
            }
            waiting += arrivals;
            var taken = running ? (long) Math.min(waiting, capacity) : 0;
            waiting -= taken;
            var told = JSON.createObjectNode();
            for (var vertex : given.get("vertices")) {
                var name = vertex.get("name").asText();
                var busy = taken * vertex.get("ms_per_record").asDouble() / parallelism.get(name) / MINUTE_S;
                told.putObject(name).put("records_in", taken).put("records_out", taken).put("busy_ms", busy)
                        .put("backpressured_ms", 0).put("lag", waiting);
            }
            return told;
        }

        private boolean applied() {
            var before = new HashMap<>(parallelism);
            ids.forEach((name, id) -> parallelism.computeIfPresent(
                    name, (key, count) -> Integer.valueOf(overrides.getOrDefault(id.toString(), "" + count))));
            return !before.equals(parallelism);
        }

        private final class Collector extends ScalingMetricCollector<JobID, JobAutoScalerContext<JobID>> {
            @Override
            public JobDetailsInfo getJobDetailsInfo(JobAutoScalerContext<JobID> context, Duration timeout) {
                return null;
            }

            @Override
            protected Instant getJobRunningTs(JobDetailsInfo details) {
                return Instant.ofEpochSecond(runningSince);
            }

            @Override
            protected JobTopology getJobTopology(
                    JobAutoScalerContext<JobID> context,
                    AutoScalerStateStore<JobID, JobAutoScalerContext<JobID>> store,
                    JobDetailsInfo details) {
                var vertices = new HashSet<VertexInfo>();
                for (var vertex : given.get("vertices")) {
                    var name = vertex.get("name").asText();
                    var inputs = new HashMap<JobVertexID, ShipStrategy>();
                    vertex.get("inputs").fields().forEachRemaining(
                            e -> inputs.put(ids.get(e.getKey()), ShipStrategy.of(e.getValue().asText())));
                    var counts = counted.get(name);
                    // Flink counts no records into a source; its own metrics tell them.
                    var io = new IOMetrics(inputs.isEmpty() ? 0 : counts[0], counts[1], 0);
                    var info = new VertexInfo(
                            ids.get(name), inputs, parallelism.get(name), vertex.get("max_parallelism").asInt(), io);
                    info.setNumSourcePartitions(vertex.get("partitions").asInt());
                    vertices.add(info);
                }
                return new JobTopology(vertices);
            }

            @Override
            protected Map<JobVertexID, Map<String, FlinkMetric>> queryFilteredMetricNames(
                    JobAutoScalerContext<JobID> context, JobTopology topology) {
                return Map.of();
            }

            @Override
            protected Map<JobVertexID, Map<FlinkMetric, AggregatedMetric>> queryAllAggregatedMetrics(
                    JobAutoScalerContext<JobID> context, Map<JobVertexID, Map<String, FlinkMetric>> names) {
                var all = new HashMap<JobVertexID, Map<FlinkMetric, AggregatedMetric>>();
                ids.forEach((name, id) -> {
                    var told = minute.get(name);
                    var perSecond = told.get("records_in").asDouble() / MINUTE_S;
                    all.put(id, Map.of(
                            FlinkMetric.BUSY_TIME_PER_SEC, metric(told.get("busy_ms").asDouble()),
                            FlinkMetric.BACKPRESSURE_TIME_PER_SEC, metric(told.get("backpressured_ms").asDouble()),
                            FlinkMetric.PENDING_RECORDS, metric(told.get("lag").asDouble()),
                            FlinkMetric.SOURCE_TASK_NUM_RECORDS_IN, metric(counted.get(name)[0]),
                            FlinkMetric.SOURCE_TASK_NUM_RECORDS_IN_PER_SEC, metric(perSecond)));
                });
                return all;
            }

            @Override
            protected Map<FlinkMetric, Metric> queryJmMetrics(JobAutoScalerContext<JobID> context) {
                return Map.of();
            }

            @Override
            protected Map<FlinkMetric, AggregatedMetric> queryTmMetrics(JobAutoScalerContext<JobID> context) {
                return Map.of();
            }
        }

        private final class Realizer implements ScalingRealizer<JobID, JobAutoScalerContext<JobID>> {
            @Override
            public void realizeParallelismOverrides(JobAutoScalerContext<JobID> context, Map<String, String> asked) {
                overrides = asked;
            }

            @Override
            public void realizeConfigOverrides(JobAutoScalerContext<JobID> context, ConfigChanges changes) {}
        }
    }

    /** The same in every aggregation: min, max, avg, sum, skew. */
    private static AggregatedMetric metric(double value) {
        return new AggregatedMetric("", value, value, value, value, value);
    }

    private static final class Events implements AutoScalerEventHandler<JobID, JobAutoScalerContext<JobID>> {
        @Override
        public void handleEvent(
                JobAutoScalerContext<JobID> job, Type type, String reason, String text, String key, Duration every) {}

        @Override
        public void handleException(JobAutoScalerContext<JobID> context, String reason, Throwable error) {
            throw new IllegalStateException(error);
        }
    }

    private static final class SetClock extends Clock {
        private Instant now = Instant.EPOCH;

        @Override
        public Instant instant() {
            return now;
        }

        @Override
        public ZoneId getZone() {
            return ZoneOffset.UTC;
        }

        @Override
        public Clock withZone(ZoneId zone) {
            return this;
        }
    }
}
