package io.forescale.flink;

import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Clock;
import java.time.Duration;
import java.util.Optional;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Asks `forescale serve` for the plan of a topology. Whatever goes wrong is an empty answer, and a line in the log. */
public final class ServedPlan implements Supplier<Optional<PlannedFloor>> {

    private static final Logger LOG = LoggerFactory.getLogger(ServedPlan.class);
    private static final Duration PATIENCE = Duration.ofSeconds(3);

    private final HttpClient client = HttpClient.newBuilder().connectTimeout(PATIENCE).build();
    private final URI address;
    private final Clock clock;

    /** address: http://HOST:PORT/plan/TOPOLOGY. */
    public ServedPlan(URI address) {
        this(address, Clock.systemUTC());
    }

    public ServedPlan(URI address, Clock clock) {
        this.address = address;
        this.clock = clock;
    }

    @Override
    public Optional<PlannedFloor> get() {
        try {
            var request = HttpRequest.newBuilder(address).timeout(PATIENCE).build();
            var answer = client.send(request, HttpResponse.BodyHandlers.ofString());
            var floor = answer.statusCode() == 200
                    ? PlannedFloor.read(answer.body(), clock.instant())
                    : Optional.<PlannedFloor>empty();
            if (floor.isEmpty()) {
                LOG.info("No plan is known at {} (HTTP {}); the autoscaler decides alone", address, answer.statusCode());
            }
            return floor;
        } catch (IOException e) {
            LOG.warn("No plan from {}: {}; the autoscaler decides alone", address, e.toString());
            return Optional.empty();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return Optional.empty();
        }
    }
}
