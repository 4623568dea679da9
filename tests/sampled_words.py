"""A topology that splits lines into words, and samples of two of its instances, as files."""

from collections.abc import Sequence
from pathlib import Path

import yaml

HEADER = "operator,index,span_s,busy_s,backpressured_s,records_in,began_s,age_s,parallelism,records_out:split->count"


def words_file(folder: Path) -> Path:
    path = folder / "words.yaml"
    body = {
        "topology": "words",
        "operators": {"lines": {"service_s": 0.001}, "split": {"service_s": 0.5}, "count": {"service_s": 0.002}},
        "streams": [{"from": "lines", "to": "split"}, {"from": "split", "to": "count", "selectivity": 9}],
        "arrivals": {
            "path": "events",
            "format": "csv",
            "columns": {"time": "t", "source": "s", "id": "i"},
            "window_s": 60,
        },
        "cluster": {
            "kind": "simulator",
            "truth": "history",
            "parallelism": {"lines": 1, "split": 2, "count": 2},
        },
    }
    path.write_text(yaml.safe_dump(body))
    return path


def samples(folder: Path, service_s: float = 0.004, spans: Sequence[int] = range(6), held_s: float = 0.0) -> Path:
    """Two instances of split, 1000 tuples a span, 5 words each; service times 1 % apart."""
    path = folder / "samples.csv"
    rows = [
        f"split,{index},60,{1000 * service_s * (0.99 if (index + span) % 2 else 1.01)},{held_s},1000,{60 * span},"
        f"{60 * span},2,5000"
        for span in spans
        for index in (0, 1)
    ]
    path.write_text("\n".join([HEADER, *rows]))
    return path
