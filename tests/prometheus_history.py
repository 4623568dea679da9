"""The counters of a past day that the tests of Prometheus read, sample by sample.

Moments are minutes after MIDNIGHT; samples are 15 s apart and fall on whole minutes where nothing else is said.
"""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from forecasting.arrivals.grid import to_us

MIDNIGHT = datetime(2024, 3, 3, tzinfo=UTC)
DAYS = 3
SCRAPE_S = 15

Samples = list[tuple[float, float]]


def moment(minute: float) -> datetime:
    return MIDNIGHT + timedelta(minutes=minute)


def scraped(first: float, last: float, value: Callable[[float], float]) -> Samples:
    """(time in s, value at that minute) every SCRAPE_S seconds from the first to the last minute."""
    count = round((last - first) * 60 / SCRAPE_S)
    at = [first + number * SCRAPE_S / 60 for number in range(count + 1)]
    return [(to_us(MIDNIGHT) / 1e6 + minute * 60, value(minute)) for minute in at]


BURST = (0, 30, 0, 5, 400, 0, 20, 7)
"""Events in the eight minutes from minute 120; four times a minute, a quarter of each is scraped, rounded down."""


def _burst(minute: float) -> float:
    whole = int(max(0.0, minute - 120))
    begun = BURST[whole] * (minute - 120 - whole) if 120 <= minute < 128 else 0
    return 50 + sum(BURST[:whole]) + int(begun)


def _of_an_autoscaler() -> list[tuple[str, str, Samples]]:
    """Pods of 2/s: one all day, four more from 9 to 11, each replaced after 20 minutes, 5 minutes apart."""
    pods = [("hpa", 'pod="always"', scraped(0, 1440, lambda m: 120 * m))]
    for lane in range(4):
        for number in range(8):
            begin, end = (min(max(540 + 20 * number - 5 * lane + more, 540), 660) for more in (0, 20))
            if begin < end:
                first = begin + lane / 17  # none is scraped at once
                samples = scraped(first, end - SCRAPE_S / 120, lambda m, begin=begin: int(120 * (m - begin)))  # type: ignore[misc]
                pods.append(("hpa", f'pod="{lane}-{number}"', samples))
    return pods


HISTORY = [
    # Eight minutes with a burst and silences, all else is silence.
    ("burst", 'pod="a"', scraped(100, 200, _burst)),
    # 60 a minute; restarts between 10:00 and 10:15 after minute 10.
    ("restarted", 'pod="a"', [*scraped(0, 10, lambda m: 60 * m), *scraped(10.25, 20, lambda m: 60 * (m - 10.1))]),
    # Not scraped for four minutes, less than Prometheus' look-back of five, then for ten.
    (
        "gaps",
        'pod="a"',
        [
            *scraped(0, 10, lambda m: 60 * m),
            *scraped(14, 20, lambda m: 60 * m),
            *scraped(30, 40, lambda m: 60 * m),
        ],
    ),
    # One pod all along, one from minute 20 to 40.
    ("pods", 'pod="a"', scraped(0, 80, lambda m: 60 * m)),
    ("pods", 'pod="b"', scraped(20, 40, lambda m: 600 + 120 * (m - 20))),
    # Three days: 17,281 samples, more than the 11,000 of a page.
    ("long", 'pod="a"', scraped(0, DAYS * 1440, lambda m: 4 * m)),
    # Above 0 from minute 30 to 32, without a value from 50 to 60.
    (
        "pressure",
        'pod="a"',
        [*scraped(0, 50, lambda m: 500 if 30 <= m < 32 else 0), *scraped(60, 80, lambda m: 0)],
    ),
    *_of_an_autoscaler(),
]
