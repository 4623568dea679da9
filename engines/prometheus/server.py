"""Requests to Prometheus: raw samples, values of expressions, and whether a series exists."""

import re
from collections.abc import Iterable, Mapping
from typing import Unpack

import numpy as np
import numpy.typing as npt

from engines.http import Connection, Failure, JsonServer

POINTS_PER_PAGE = 11_000
"""Maximum points per series that Prometheus returns for one range query."""

Labels = tuple[tuple[str, str], ...]
Points = tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]
"""Times in milliseconds since the epoch and values, both of shape (points,); NaN values are dropped."""

_NAMED = re.compile(r"^\s*([A-Za-z_:][A-Za-z0-9_:]*)\s*(\{.*\})?\s*$", re.DOTALL)


def selector_with_suffix(selector: str, suffix: str) -> str:
    """The selector of a series that belongs to a histogram or summary. Raises ValueError if it names no metric.

    >>> selector_with_suffix('http_request_duration_seconds{job="gate"}', "_count")
    'http_request_duration_seconds_count{job="gate"}'
    """
    match = _NAMED.match(selector)
    if match is None:
        raise ValueError(f'{selector!r} is no NAME or NAME{{LABELS}}; give it like request_seconds{{job="gate"}}')
    return f"{match[1]}{suffix}{match[2] or ''}"


class PrometheusServer(JsonServer):
    """Times are in milliseconds since the epoch."""

    def __init__(self, url: str, failure: Failure, **connection: Unpack[Connection]) -> None:
        super().__init__("Prometheus", url, failure, **connection)

    def samples(self, selector: str, after_ms: int, until_ms: int) -> dict[Labels, Points]:
        """All samples in (after, until] by the series' labels, and one at `after` if the server includes it."""
        query = f"{selector}[{until_ms - after_ms}ms]"
        params = {"query": query, "time": f"{until_ms / 1000:.3f}"}
        return dict(self._matrix("/api/v1/query", params))

    def values(self, expression: str, begin_ms: int, end_ms: int, step_ms: int) -> list[Points]:
        """Values of each series of the expression, at every step from begin to end."""
        params = {"start": f"{begin_ms / 1000:.3f}", "end": f"{end_ms / 1000:.3f}"}
        params |= {"step": f"{step_ms / 1000:.3f}", "query": expression}
        return [points for _, points in self._matrix("/api/v1/query_range", params)]

    def has_series(self, selectors: Iterable[str], until_ms: int) -> bool:
        """Whether any of the selectors has a series with samples up to that moment."""
        return bool(self.series(selectors, 0, until_ms, limit=1))

    def series(self, selectors: Iterable[str], begin_ms: int, end_ms: int, *, limit: int) -> list[dict[str, str]]:
        """Labels of at most `limit` series that match any selector and have samples between the two moments."""
        params: dict[str, str | list[str]] = {"match[]": list(selectors), "limit": str(limit)}
        params |= {"start": f"{begin_ms / 1000:.3f}", "end": f"{end_ms / 1000:.3f}"}
        series = self._data("/api/v1/series", params)
        try:
            if not isinstance(series, list):
                raise self.surprise("/api/v1/series", series)
            return [{str(name): str(value) for name, value in dict(labels).items()} for labels in series]
        except (TypeError, ValueError):
            raise self.surprise("/api/v1/series", series) from None

    def _matrix(self, path: str, params: Mapping[str, str]) -> list[tuple[Labels, Points]]:
        """Labels and points of each series."""
        data = self._data(path, params)
        try:
            if not isinstance(data, dict) or data["resultType"] != "matrix" or not isinstance(data["result"], list):
                raise TypeError
            if not any("histograms" in one for one in data["result"]):
                return [(_labels(one["metric"]), _points(one["values"])) for one in data["result"]]
        except (KeyError, TypeError, ValueError, OverflowError):
            raise self.surprise(path, data) from None
        raise self.failure(
            f"{self.place}: {params['query']} has histograms; select a counter, such as one ending in _count"
        )

    def _data(self, path: str, params: Mapping[str, str | list[str]]) -> object:
        status, body = self.get(path, params)
        query = params.get("query") or ", ".join(params["match[]"])
        if not isinstance(body, dict) or body.get("status") not in ("success", "error"):
            raise self.surprise(path, body)
        if body["status"] == "error":
            reason = self.excerpt(body.get("error", f"HTTP {status}"), 300)
            raise self.failure(
                f"{self.place} cannot answer {query}: {reason}; "
                "a source needs a plain selector such as events_total, held_back any expression"
            )
        # Warnings about PromQL do not concern the data; any other (a store that did not answer) means missing data.
        warnings = body.get("warnings") or []
        if not isinstance(warnings, list):
            raise self.surprise(path, warnings)
        partial = [str(one) for one in warnings if not str(one).startswith("PromQL ")]
        if partial:
            reason = self.excerpt(partial[0], 300)
            raise self.failure(f"{self.place} answers {query} only in part: {reason}; see that all its stores answer")
        return body.get("data")


def _labels(metric: object) -> Labels:
    """Raises TypeError for what is no object of texts."""
    if not isinstance(metric, dict) or not all(isinstance(value, str) for value in metric.values()):
        raise TypeError
    return tuple(sorted(metric.items()))


def _points(pairs: object) -> Points:
    """Of a list of [seconds, "value"]. Raises TypeError or ValueError for any other, and for times that do not rise."""
    if not isinstance(pairs, list) or not all(isinstance(pair, list) for pair in pairs):
        raise TypeError
    times_ms = np.array([_milliseconds(at) for at, _ in pairs], dtype=np.int64)
    values = np.array([_value(text) for _, text in pairs], dtype=np.float64)
    if (np.diff(times_ms) <= 0).any():
        raise ValueError
    known = ~np.isnan(values)
    return times_ms[known], values[known]


def _milliseconds(seconds: object) -> int:
    if isinstance(seconds, bool) or not isinstance(seconds, int | float):
        raise TypeError
    return round(seconds * 1000)


def _value(text: object) -> float:
    """Of a number as Go writes it. Python would also read 1_0 and digits of other scripts."""
    if not isinstance(text, str) or "_" in text or not text.isascii():
        raise TypeError
    return float(text)
