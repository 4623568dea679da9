"""Queries of Nexmark as Flink SQL, over the views person, auction and bid.

Written after the public descriptions of the queries. A result carries `due`, when its newest event was due, where the
query does not aggregate.
"""

_HOPS = (
    "SELECT auction, COUNT(*) AS num, window_start, window_end FROM TABLE(HOP(TABLE bid, DESCRIPTOR(ts), "
    "INTERVAL '2' SECOND, INTERVAL '10' SECOND)) GROUP BY auction, window_start, window_end"
)
_DAY = "DATE_FORMAT(ts, 'yyyy-MM-dd')"
_STEPS = ("price < 10000", "price >= 10000 AND price < 1000000", "price >= 1000000")
_COUNTS = ", ".join(
    f"COUNT({what}) FILTER (WHERE {step})" for what in ("*", "DISTINCT bidder", "DISTINCT auction") for step in _STEPS
)
_CHANNEL_ID = "REGEXP_EXTRACT(url, 'channel-([0-9]+)/', 1)"

QUERIES = {
    "q0": "SELECT auction, bidder, price, url, ts, due FROM bid",
    "q1": "SELECT auction, bidder, CAST(0.908 * price AS DECIMAL(23, 3)) AS price, url, ts, due FROM bid",
    "q2": "SELECT auction, price, due FROM bid WHERE MOD(auction, 123) = 0",
    "q3": (
        "SELECT P.name, P.city, P.state, A.id, GREATEST(A.due, P.due) AS due FROM auction A JOIN person P "
        "ON A.seller = P.id WHERE A.category = 10 AND P.state IN ('OR', 'ID', 'CA')"
    ),
    "q5": (
        f"SELECT H.auction, H.num FROM ({_HOPS}) H JOIN (SELECT MAX(num) AS most, window_start, window_end FROM "
        f"({_HOPS}) GROUP BY window_start, window_end) hot ON H.window_start = hot.window_start AND H.window_end = "
        "hot.window_end AND H.num >= hot.most"
    ),
    "q7": (
        "SELECT B.auction, B.price, B.bidder FROM bid B JOIN (SELECT MAX(price) AS most, window_end AS ends FROM "
        "TABLE(TUMBLE(TABLE bid, DESCRIPTOR(ts), INTERVAL '10' SECOND)) GROUP BY window_start, window_end) best "
        "ON B.price = best.most WHERE B.ts BETWEEN best.ends - INTERVAL '10' SECOND AND best.ends"
    ),
    "q8": (
        "SELECT P.id, P.name, P.window_start FROM (SELECT id, name, window_start, window_end FROM TABLE(TUMBLE("
        "TABLE person, DESCRIPTOR(ts), INTERVAL '10' SECOND)) GROUP BY id, name, window_start, window_end) P JOIN "
        "(SELECT seller, window_start, window_end FROM TABLE(TUMBLE(TABLE auction, DESCRIPTOR(ts), INTERVAL '10' "
        "SECOND)) GROUP BY seller, window_start, window_end) A ON P.id = A.seller AND P.window_start = A.window_start "
        "AND P.window_end = A.window_end"
    ),
    "q15": f"SELECT {_DAY} AS on_day, {_COUNTS} FROM bid GROUP BY {_DAY}",
    "q16": f"SELECT channel, {_DAY} AS on_day, {_COUNTS} FROM bid GROUP BY channel, {_DAY}",
    "q17": (
        f"SELECT auction, {_DAY} AS on_day, COUNT(*), MIN(price), MAX(price), AVG(price), SUM(price) FROM bid "
        f"GROUP BY auction, {_DAY}"
    ),
    "q18": (
        "SELECT auction, bidder, price, channel, due FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY bidder, auction "
        "ORDER BY ts DESC) AS place FROM bid) WHERE place <= 1"
    ),
    "q19": (
        "SELECT auction, bidder, price, place FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY auction ORDER BY price "
        "DESC) AS place FROM bid) WHERE place <= 10"
    ),
    "q20": (
        "SELECT B.auction, B.bidder, B.price, A.itemName, B.due FROM bid B JOIN auction A ON B.auction = A.id "
        "WHERE A.category = 10"
    ),
    "q21": (
        f"SELECT auction, bidder, price, channel, CASE LOWER(channel) WHEN 'apple' THEN '0' WHEN 'google' THEN '1' "
        f"WHEN 'facebook' THEN '2' WHEN 'baidu' THEN '3' ELSE {_CHANNEL_ID} END AS channel_id, due FROM bid "
        f"WHERE LOWER(channel) IN ('apple', 'google', 'facebook', 'baidu') OR {_CHANNEL_ID} IS NOT NULL"
    ),
    "q22": (
        "SELECT auction, bidder, price, SPLIT_INDEX(url, '/', 3) AS dir1, SPLIT_INDEX(url, '/', 4) AS dir2, due "
        "FROM bid"
    ),
}


def reference_of(name: str) -> str:
    """The query whose work per CPU second tells the machine's pace beside one. The same slows as it does where others
    take caches and memory; one with windows takes in unevenly from span to span, and q1, without state, does not.
    """
    return "q1" if any(window in QUERIES[name] for window in ("HOP(", "TUMBLE(")) else name
