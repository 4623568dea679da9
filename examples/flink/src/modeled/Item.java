package modeled;

import paced.Zipf;

/**
 * An item of the modeled job. Fields are public and there is a constructor without arguments, as Flink requires of a
 * POJO.
 */
public final class Item {

    /** Its number at its source, mixed again for each item made of another. All random values follow from it. */
    public long id;

    /** When it was due at its source, in microseconds since the epoch; items made of it inherit this. */
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

    /** The number-th item made of this one for a stream: the first has its key, others draw their own. */
    Item child(int toStream, int number, Zipf keys) {
        long childId = Draws.mix(Draws.mix(id, toStream), number);
        return new Item(childId, dueMicros, number == 0 ? key : Draws.key(childId, keys), toStream);
    }
}
