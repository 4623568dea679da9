package nexmark;

import java.time.Instant;
import java.util.SplittableRandom;
import modeled.Arrivals;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.types.Row;

/**
 * The auction site of Nexmark (Tucker, Tufte, Papadimos, Maier: NEXMark, a benchmark for queries over data streams),
 * with the proportions that its users keep: of fifty events one is a new person, three are new auctions, the others
 * bids. Half of the bids go to a hot auction, three of four auctions are a hot seller's, three of four bids a hot
 * bidder's. An event follows from its number alone; its time is when it was taken in.
 */
final class Events implements Arrivals.Maker<Row> {

    static final int PERSON = 0;
    static final int AUCTION = 1;
    static final int BID = 2;

    private static final int IN_ROUND = 50;
    private static final int AUCTIONS_IN_ROUND = 3;
    private static final int FIRST = 1000;
    private static final int FIRST_CATEGORY = 10;
    private static final int CATEGORIES = 5;
    private static final int KNOWN = 100;
    private static final String[] STATES = {"AZ", "CA", "ID", "OR", "WA", "WY"};
    private static final String[] CITIES = {"Phoenix", "Los Angeles", "San Francisco", "Boise", "Portland", "Bend"};
    private static final String[] CHANNELS = {"Google", "Facebook", "Baidu", "Apple"};

    private static final TypeInformation<Row> PERSONS =
            Types.ROW_NAMED(
                    new String[] {"id", "name", "emailAddress", "creditCard", "city", "state"},
                    Types.LONG, Types.STRING, Types.STRING, Types.STRING, Types.STRING, Types.STRING);
    private static final TypeInformation<Row> AUCTIONS =
            Types.ROW_NAMED(
                    new String[] {"id", "itemName", "description", "initialBid", "reserve", "expires", "seller",
                        "category"},
                    Types.LONG, Types.STRING, Types.STRING, Types.LONG, Types.LONG, Types.INSTANT, Types.LONG,
                    Types.LONG);
    private static final TypeInformation<Row> BIDS =
            Types.ROW_NAMED(
                    new String[] {"auction", "bidder", "price", "channel", "url"},
                    Types.LONG, Types.LONG, Types.LONG, Types.STRING, Types.STRING);

    /** Kind of event, the three rows of which one is not null, when it was taken in, and when it was due. */
    static final TypeInformation<Row> TYPE =
            Types.ROW_NAMED(
                    new String[] {"kind", "person", "auction", "bid", "takenIn", "due"},
                    Types.INT, PERSONS, AUCTIONS, BIDS, Types.INSTANT, Types.LONG);

    @Override
    public Row make(long number, long dueMicros) {
        SplittableRandom random = new SplittableRandom(number * 0x9E3779B97F4A7C15L + 1);
        Instant now = Instant.ofEpochMilli(System.currentTimeMillis());
        long round = number / IN_ROUND;
        int place = (int) (number % IN_ROUND);
        if (place == 0) {
            return Row.of(PERSON, person(FIRST + round, random), null, null, now, dueMicros);
        }
        if (place <= AUCTIONS_IN_ROUND) {
            long id = FIRST + round * AUCTIONS_IN_ROUND + place - 1;
            return Row.of(AUCTION, null, auction(id, FIRST + round, now, random), null, now, dueMicros);
        }
        long newest = FIRST + round * AUCTIONS_IN_ROUND + AUCTIONS_IN_ROUND - 1;
        return Row.of(BID, null, null, bid(newest, FIRST + round, random), now, dueMicros);
    }

    private static Row person(long id, SplittableRandom random) {
        String name = "person " + random.nextInt(10_000);
        String card = Long.toString(1_000_000_000_000_000L + random.nextLong(1_000_000_000_000_000L));
        int state = random.nextInt(STATES.length);
        return Row.of(id, name, name + "@example.com", card, CITIES[state], STATES[state]);
    }

    private static Row auction(long id, long newestPerson, Instant now, SplittableRandom random) {
        long initial = price(random);
        long seller = chosen(newestPerson, random.nextInt(4) > 0, random);
        long category = FIRST_CATEGORY + random.nextInt(CATEGORIES);
        Instant expires = now.plusMillis(1_000 + random.nextInt(20_000));
        return Row.of(id, "item " + id % 1000, "as good as new", initial, initial + price(random), expires, seller,
                category);
    }

    private static Row bid(long newestAuction, long newestPerson, SplittableRandom random) {
        long auction = chosen(newestAuction, random.nextInt(2) > 0, random);
        long bidder = chosen(newestPerson, random.nextInt(4) > 0, random);
        boolean hot = random.nextInt(2) > 0;
        String channel = hot ? CHANNELS[random.nextInt(CHANNELS.length)] : "channel-" + random.nextInt(10_000);
        String url = "https://www.nexmark.com/" + channel + "/item.htm?query=" + random.nextInt(1000);
        return Row.of(auction, bidder, price(random), channel, url);
    }

    /** A hot one stands for a hundred; otherwise one of the last hundred. */
    private static long chosen(long newest, boolean hot, SplittableRandom random) {
        return hot ? newest / KNOWN * KNOWN : Math.max(FIRST, newest - random.nextInt(KNOWN));
    }

    private static long price(SplittableRandom random) {
        return Math.round(Math.pow(10, random.nextDouble() * 6) * 100);
    }
}
