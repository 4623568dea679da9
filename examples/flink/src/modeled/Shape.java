package modeled;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;

/**
 * Operators and streams of a job. An operator is written {@code name:phases:state-mib:startup-ms}: its service times
 * are Erlang with this many phases (1 exponential, 0 constant), and each instance takes startup-ms to open, except in a
 * source. A stream is written {@code from:to:grouping:selectivity:service-ms}: {@code from} emits selectivity items on
 * it per item in, {@code to} works on one for service-ms on average. Both lists are separated by commas; an operator
 * comes after all operators that feed it.
 */
final class Shape {

    record Operator(String name, int phases, double stateMib, double startupMillis) implements Serializable {}

    record Stream(int number, String from, String to, boolean keyed, double selectivity, double serviceMillis)
            implements Serializable {
        String name() {
            return from + "->" + to;
        }
    }

    final List<Operator> operators = new ArrayList<>();
    final List<Stream> streams = new ArrayList<>();

    Shape(String operators, String streams) {
        for (String written : operators.split(",")) {
            String[] part = parts(written, "name:phases:state-mib:startup-ms", 4);
            this.operators.add(
                    new Operator(
                            part[0],
                            Integer.parseInt(part[1]),
                            Double.parseDouble(part[2]),
                            Double.parseDouble(part[3])));
        }
        for (String written : streams.split(",")) {
            String[] part = parts(written, "from:to:grouping:selectivity:service-ms", 5);
            if (!part[2].equals("shuffle") && !part[2].equals("fields")) {
                throw new IllegalArgumentException("grouping " + part[2] + " of " + written + ": give shuffle or fields");
            }
            this.streams.add(
                    new Stream(
                            this.streams.size(),
                            part[0],
                            part[1],
                            part[2].equals("fields"),
                            Double.parseDouble(part[3]),
                            Double.parseDouble(part[4])));
        }
        for (Operator operator : this.operators) {
            if (inputs(operator).stream().map(Stream::keyed).distinct().count() > 1) {
                throw new IllegalArgumentException(
                        "streams into " + operator.name() + " have different groupings; give all of them the same");
            }
        }
    }

    List<Stream> inputs(Operator operator) {
        return streams.stream().filter(stream -> stream.to().equals(operator.name())).toList();
    }

    List<Stream> outputs(Operator operator) {
        return streams.stream().filter(stream -> stream.from().equals(operator.name())).toList();
    }

    /** By the number of the stream; 0 for streams that do not enter the operator. */
    double[] serviceMillis(Operator operator) {
        return IntStream.range(0, streams.size())
                .mapToDouble(i -> streams.get(i).to().equals(operator.name()) ? streams.get(i).serviceMillis() : 0)
                .toArray();
    }

    private static String[] parts(String written, String form, int count) {
        String[] part = written.split(":");
        if (part.length != count) {
            throw new IllegalArgumentException(written + " is not written " + form);
        }
        return part;
    }
}
