package io.forescale.flink;

import java.util.HashMap;
import java.util.Map;
import org.apache.flink.api.common.JobID;
import org.apache.flink.autoscaler.JobAutoScalerContext;
import org.apache.flink.runtime.rest.messages.EmptyRequestBody;
import org.apache.flink.runtime.rest.messages.job.JobDetailsHeaders;

/** The vertices of a job that runs: name and parallelism by id. */
@FunctionalInterface
public interface Vertices<KEY, Context extends JobAutoScalerContext<KEY>> {

    Map<String, Vertex> of(Context context) throws Exception;

    /** By Flink's own REST interface. */
    static <KEY, Context extends JobAutoScalerContext<KEY>> Vertices<KEY, Context> byRest() {
        return context -> {
            try (var client = context.getRestClusterClient()) {
                var headers = JobDetailsHeaders.getInstance();
                var parameters = headers.getUnresolvedMessageParameters();
                JobID job = context.getJobID();
                parameters.jobPathParameter.resolve(job);
                var details = client.sendRequest(headers, parameters, EmptyRequestBody.getInstance()).get();
                var vertices = new HashMap<String, Vertex>();
                details.getJobVertexInfos().forEach(each -> vertices.put(
                        each.getJobVertexID().toString(), new Vertex(each.getName(), each.getParallelism())));
                return vertices;
            }
        };
    }

    /** One of them. */
    final class Vertex {
        final String name;
        final int parallelism;

        public Vertex(String name, int parallelism) {
            this.name = name;
            this.parallelism = parallelism;
        }
    }
}
