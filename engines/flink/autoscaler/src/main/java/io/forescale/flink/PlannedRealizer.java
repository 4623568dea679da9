package io.forescale.flink;

import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.function.Supplier;
import org.apache.flink.autoscaler.JobAutoScalerContext;
import org.apache.flink.autoscaler.realizer.ScalingRealizer;
import org.apache.flink.autoscaler.tuning.ConfigChanges;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Carries out the decisions of Flink's autoscaler through another realizer, no lower than the plan in effect.
 *
 * <p>A decision below the plan is raised to it. A scale-down is held, at what runs or at what the plan will have, while
 * a larger plan takes effect within the hold. Where no plan is known, decisions pass as they are.
 */
public final class PlannedRealizer<KEY, Context extends JobAutoScalerContext<KEY>>
        implements ScalingRealizer<KEY, Context> {

    private static final Logger LOG = LoggerFactory.getLogger(PlannedRealizer.class);

    private final ScalingRealizer<KEY, Context> inner;
    private final Supplier<Optional<PlannedFloor>> plans;
    private final Vertices<KEY, Context> vertices;
    private final Duration hold;
    private final Clock clock;

    /** hold: how long before a larger plan no scale-down is carried out. */
    public PlannedRealizer(
            ScalingRealizer<KEY, Context> inner,
            Supplier<Optional<PlannedFloor>> plans,
            Vertices<KEY, Context> vertices,
            Duration hold,
            Clock clock) {
        this.inner = inner;
        this.plans = plans;
        this.vertices = vertices;
        this.hold = hold;
        this.clock = clock;
    }

    @Override
    public void realizeParallelismOverrides(Context context, Map<String, String> decided) throws Exception {
        var plan = plans.get();
        inner.realizeParallelismOverrides(context, plan.isEmpty() ? decided : planned(context, decided, plan.get()));
    }

    @Override
    public void realizeConfigOverrides(Context context, ConfigChanges changes) throws Exception {
        inner.realizeConfigOverrides(context, changes);
    }

    private Map<String, String> planned(Context context, Map<String, String> decided, PlannedFloor plan) {
        try {
            var soon = clock.instant().plus(hold);
            var raised = new HashMap<>(decided);
            vertices.of(context).forEach((id, vertex) -> {
                var count = decided.containsKey(id) ? Integer.parseInt(decided.get(id)) : vertex.parallelism;
                var least = least(plan, vertex, count, soon);
                if (least > count) {
                    LOG.info("{} is decided to have {}, and has {} by its plan", vertex.name, count, least);
                    raised.put(id, Integer.toString(least));
                }
            });
            return raised;
        } catch (Exception e) {
            LOG.warn("The vertices of the job are not known: {}; the autoscaler decides alone", e.toString());
            return decided;
        }
    }

    private static int least(PlannedFloor plan, Vertices.Vertex vertex, int decided, Instant soon) {
        var held = Math.min(vertex.parallelism, plan.until(vertex.name, soon));
        return Math.max(decided, Math.max(plan.of(vertex.name), held));
    }
}
