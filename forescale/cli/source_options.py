"""Options of `forescale model evaluate` that give values per source."""

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


def asked_load(texts: Sequence[str]) -> AskedLoad:
    """Parse `SOURCE=RATE` texts, folders of forecasts, and the word `forecast`. Raises ModelError for anything else."""
    others = [text for text in texts if text != NEWEST]
    folders = [Path(text) for text in others if (Path(text) / JSON_FILE).exists()]
    rates = [text for text in others if Path(text) not in folders]
    expected = f", a folder of a forecast or {NEWEST!r}"
    rates_per_s = sources_numbers("--load", rates, MIN_PER_S, MAX_PER_S, expected)
    return AskedLoad(rates_per_s, folders, NEWEST in texts)


def asked_loads(texts: Sequence[str]) -> list[AskedLoad]:
    """One load or several. A source with several rates has one in each load; a source with a single rate has it in all
    loads.

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
    mixes = [[*others, *(each[at] if len(each) > 1 else each[0] for each in rates.values())] for at in range(count)]
    return [asked_load(mix) for mix in mixes]


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
