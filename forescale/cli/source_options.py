"""Options of `forescale evaluate` that give values per source."""

from collections.abc import Sequence
from pathlib import Path

from forecasting.forecast_file import JSON_FILE
from forescale.jobs.evaluation_load import AskedLoad
from forescale.plain_numbers import is_plain
from modeling.errors import ModelError

NEWEST = "forecast"
"""Value of --load that stands for the newest forecast of every source."""

MIN_PER_S, MAX_PER_S = 1e-9, 1e12
"""Bounds of a nonzero rate: one event in thirty years, and more than any source delivers."""


def asked_load(texts: Sequence[str], quantile: float, within_s: int | None, arrival_cv2: float | None) -> AskedLoad:
    """Parse `SOURCE=RATE` texts, folders of forecasts, and the word `forecast`. Raises ModelError for anything else."""
    if not 0 < quantile < 1:
        raise ModelError(f"--quantile {quantile:g} is no quantile; give a number between 0 and 1, such as 0.95")
    others = [text for text in texts if text != NEWEST]
    folders = [Path(text) for text in others if (Path(text) / JSON_FILE).exists()]
    rates = [text for text in others if Path(text) not in folders]
    expected = f", a folder of a forecast or {NEWEST!r}"
    rates_per_s = sources_numbers("--load", rates, MIN_PER_S, MAX_PER_S, expected)
    return AskedLoad(rates_per_s, folders, NEWEST in texts, quantile, within_s, arrival_cv2)


def asked_loads(
    texts: Sequence[str], quantiles: Sequence[float], within_s: int | None, arrival_cv2: float | None
) -> list[AskedLoad]:
    """One load or several. A source with several rates has one in each load; a source with a single rate has it in all
    loads. Every load is repeated at each quantile of the forecasts' peaks.

    Raises ModelError as `asked_load`, and where sources have different numbers of rates.
    """
    rates: dict[str, list[str]] = {}
    others = []
    for text in texts:
        source, equals, _ = text.rpartition("=")
        if source and equals and not (Path(text) / JSON_FILE).exists():
            rates.setdefault(source, []).append(text)
        else:
            others.append(text)
    several = {source: each for source, each in rates.items() if len(each) > 1}
    count = max(map(len, several.values()), default=1)
    for source, each in several.items():
        if len(each) < count:
            most = next(name for name in several if len(several[name]) == count)
            raise ModelError(
                f"--load gives source {source!r} {len(each)} rates and {most!r} {count}; give each source one rate for "
                "each load, or one for all"
            )
    if len(quantiles) > 1 and not others:
        raise ModelError(
            f"--quantile {quantiles[0]:g} and {quantiles[1]:g} are of a forecast's peak; give --load {NEWEST} too"
        )
    mixes = [[*others, *(each[at] if len(each) > 1 else each[0] for each in rates.values())] for at in range(count)]
    return [asked_load(mix, quantile, within_s, arrival_cv2) for mix in mixes for quantile in quantiles]


def sources_numbers(
    option: str, texts: Sequence[str], minimum: float, maximum: float, otherwise: str = ""
) -> dict[str, float]:
    """Numbers by source, from `SOURCE=NUMBER` texts. Each is 0, or between minimum and maximum.

    otherwise: what else the option takes.

    Raises ModelError for any other text, for a number out of bounds and for a source given twice.
    """
    numbers: dict[str, float] = {}
    for text in texts:
        source, equals, told = text.rpartition("=")
        try:
            if not (source and equals and is_plain(told)):
                raise ValueError
            number = float(told)
        except ValueError:
            raise ModelError(
                f"{option} {text!r} is not SOURCE=NUMBER{otherwise}; give it like {option} 'ingest=1.2'"
            ) from None
        if not (number == 0 or minimum <= number <= maximum):
            bounds = f"0 to {maximum:g}" if minimum == 0 else f"0, or {minimum:g} to {maximum:g}"
            raise ModelError(f"{option} {text}: {number:g} is out of bounds; give {bounds}")
        if source in numbers:
            raise ModelError(
                f"{option} gives source {source!r} {numbers[source]:g} and {number:g}; give each source once"
            )
        numbers[source] = number
    return numbers
