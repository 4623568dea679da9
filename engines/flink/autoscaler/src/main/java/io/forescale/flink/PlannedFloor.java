package io.forescale.flink;

import java.io.IOException;
import java.time.DateTimeException;
import java.time.Duration;
import java.time.Instant;
import java.time.OffsetDateTime;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.ObjectMapper;

/** What `forescale serve` says of a topology: the plan in effect and those that come, by the engine's name of a vertex. */
public final class PlannedFloor {

    /** A document that was made longer ago, by its own clock against ours, is old. */
    public static final Duration FRESH = Duration.ofMinutes(1);

    private static final ObjectMapper JSON = new ObjectMapper();

    private final Map<String, Integer> floor;
    private final List<Coming> coming;

    private PlannedFloor(Map<String, Integer> floor, List<Coming> coming) {
        this.floor = floor;
        this.coming = coming;
    }

    /** Empty if the document knows no plan, is old, or is not one of ours. */
    public static Optional<PlannedFloor> read(String document, Instant now) {
        try {
            var body = JSON.readTree(document);
            if (body == null || !body.path("plan").isObject()) {
                return Optional.empty();
            }
            var plan = body.get("plan");
            var made = moment(body.get("at"));
            if (made.isBefore(now.minus(FRESH)) || made.isAfter(now.plus(FRESH)) || !now.isBefore(moment(plan.get("until")))) {
                return Optional.empty();
            }
            var names = body.path("names");
            var coming = new ArrayList<Coming>();
            for (var each : plan.path("coming")) {
                coming.add(new Coming(moment(each.get("at")), counts(each.get("parallelism"), names)));
            }
            return Optional.of(new PlannedFloor(counts(plan.get("parallelism"), names), coming));
        } catch (IOException | DateTimeException | IllegalArgumentException | NullPointerException e) {
            return Optional.empty();
        }
    }

    /** Instances that the plan in effect has; 0 if it does not name the vertex. */
    public int of(String vertex) {
        return floor.getOrDefault(vertex, 0);
    }

    /** The most that a plan has which takes effect until then, at least that of now. */
    public int until(String vertex, Instant end) {
        var most = of(vertex);
        for (var each : coming) {
            if (!each.at.isAfter(end)) {
                most = Math.max(most, each.counts.getOrDefault(vertex, 0));
            }
        }
        return most;
    }

    private static Map<String, Integer> counts(JsonNode parallelism, JsonNode names) {
        var counts = new HashMap<String, Integer>();
        parallelism.fields().forEachRemaining(each -> {
            if (!each.getValue().canConvertToInt() || each.getValue().asInt() < 1) {
                throw new IllegalArgumentException(each.getKey());
            }
            counts.put(names.path(each.getKey()).asText(each.getKey()), each.getValue().asInt());
        });
        return counts;
    }

    private static Instant moment(JsonNode text) {
        return OffsetDateTime.parse(text.asText()).toInstant();
    }

    private static final class Coming {
        private final Instant at;
        private final Map<String, Integer> counts;

        private Coming(Instant at, Map<String, Integer> counts) {
            this.at = at;
            this.counts = counts;
        }
    }
}
