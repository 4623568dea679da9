package modeled;

import paced.Zipf;

/**
 * What flows through the modeled job. Fields are public and there is a constructor without arguments, as Flink asks of a
 * POJO.
 */
public final class Item {

    /** Its number at its source, mixed anew for each item that is made of another. All that is drawn follows from it. */
    public long id;

    /** When it was due at its source, in microseconds since the epoch; items that are made of it carry that on. */
    public long dueMicros;

    public String key;

    /** Number of the stream it came on. */
    public int stream;

    public Item() {}

    Item(long id, long dueMicros, String key, int stream) {
        this.id = id;
        this.dueMicros = dueMicros;
        this.key = key;
        this.stream = stream;
    }

    /** The number-th item that is made of this one for a stream: the first has its key, others draw one of their own. */
    Item child(int toStream, int number, Zipf keys) {
        long childId = Draws.mix(Draws.mix(id, toStream), number);
        return new Item(childId, dueMicros, number == 0 ? key : Draws.key(childId, keys), toStream);
    }
}
