"""How many of forescale's own functions one `plan` passes, from its settings to the schedule that it records.

    python benchmarks/plan_path.py [--names]

A pair of operators on the simulator, two days of history and a forecast without doubt, in a temporary folder. Every
function, method and property of the packages counts once, however often it is called; comprehensions and lambdas do
not. Of these, `settings` tells how many take the settings. The simulated cluster stands in for an engine, so its own
functions are counted apart, as `cluster`; `modeling` and `engines` are apart from the three packages that decide what
to record. --names: also prints each with its number of calls.
"""

import argparse
import sys
import tempfile
from collections import Counter
from datetime import timedelta
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import numpy as np

# A script's own folder comes first, and one file in it is named like a package.
if Path(sys.path[0]).resolve() == Path(__file__).resolve().parent:
    sys.path.pop(0)
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from certain_forecast import record_certain_forecast
from shadow_days import BEFORE, FIRST, MONDAY, NAME, install, rate_per_s

import forescale
from forescale.jobs.plan import plan
from forescale.situation.workspace import Workspace
from planner.ledger.ledger import Ledger

ROOT = Path(forescale.__file__).resolve().parents[1]
PACKAGES = ("forescale", "planner", "forecasting", "modeling", "engines")
CLUSTER = ("simulator", "arrival_trace", "fluid_queues", "engine_terms")
"""Files of `planner/clusters` that simulate the job, by the beginning of their names."""


class _RecordedError(Exception):
    """The end of the path."""


class _EndOfPath(Ledger):
    def record_schedule(self, *_: Any, **__: Any) -> str:
        raise _RecordedError


def passed_functions() -> Counter[tuple[str, str, bool]]:
    """Calls by file, qualified name, and whether the function takes the settings."""
    with tempfile.TemporaryDirectory() as folder:
        settings = install(Path(folder), "act")
        mean = np.array([rate_per_s(FIRST + timedelta(minutes=15 * number)) for number in range(96)])
        record_certain_forecast(
            settings, NAME, mean, step_s=900, horizon_s=3600, issued_at=FIRST, trained_from=MONDAY - BEFORE
        )
        workspace, calls = Workspace(settings, _EndOfPath), Counter[CodeType]()

        def count(frame: FrameType, event: str, _: object) -> None:
            if event == "call":
                calls[frame.f_code] += 1

        sys.setprofile(count)
        try:
            plan(workspace, NAME)
            raise AssertionError("no schedule was recorded")
        except _RecordedError:
            pass
        finally:
            sys.setprofile(None)
    return Counter({key: number for code, number in calls.items() if (key := _function(code)) is not None})


def _function(code: CodeType) -> tuple[str, str, bool] | None:
    """None for code of others, comprehensions and lambdas."""
    path = Path(code.co_filename)
    if "<lambda>" in code.co_qualname or code.co_name.startswith("<") or not path.is_relative_to(ROOT):
        return None
    path = path.relative_to(ROOT)
    taken = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    return (str(path), code.co_qualname, "settings" in taken) if path.parts[0] in PACKAGES else None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--names", action="store_true")
    names = parser.parse_args().names
    calls = passed_functions()
    if names:
        for (path, name, _), number in sorted(calls.items()):
            print(f"{number:6} {path} {name}")
    by_part = Counter(_part(Path(path)) for path, _, _ in calls)
    counts = [f"{part} {by_part[part]}" for part in (*PACKAGES, "cluster")]
    print(", ".join([*counts, f"settings {sum(takes for *_, takes in calls)}"]))


def _part(path: Path) -> str:
    is_simulated = path.parts[:2] == ("planner", "clusters") and path.name.startswith(CLUSTER)
    return "cluster" if is_simulated else path.parts[0]


if __name__ == "__main__":
    main()
