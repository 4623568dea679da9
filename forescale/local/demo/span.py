"""The part of the trace that a demo covers, and the matching topology file."""

from collections.abc import Mapping
from dataclasses import dataclass

import yaml

from forescale.files.atomic import write_whole
from forescale.local.demo.bank_calls import TOPOLOGY
from forescale.local.home_folder import settings_file
from forescale.places import bundled
from forescale.settings import SETTINGS_FILE, Settings


@dataclass(frozen=True)
class DemoSpan:
    """weeks: of history. forecast: fields of that section that differ from the example's."""

    weeks: int
    forecast: Mapping[str, int]


FULL = DemoSpan(weeks=8, forecast={})
QUICK = DemoSpan(
    weeks=2,
    # Into the next morning: the night's plan, and those for the first calls of the day.
    forecast={"train_days": 14, "step_s": 900, "horizon_s": 12 * 3600, "origins": 2, "paths": 100},
)


def write_demo_home(settings: Settings, span: DemoSpan = FULL) -> Settings:
    """Write the demo's topology file into settings.home, with a settings file by which later commands read the demo's
    data. Returns the settings for running the demo.
    """
    name = f"{TOPOLOGY}.yaml"
    text = (bundled("examples") / "topologies" / name).read_text(encoding="utf-8")
    if span.forecast:
        body = yaml.safe_load(text)
        body["forecast"] |= span.forecast
        text = yaml.safe_dump(body, sort_keys=False)
    own = settings.model_copy(update={"topologies": settings.home / "topologies"})
    write_whole(text, own.topologies / name)
    kept = {name: getattr(own, name) for name in ("clock", "review", "schedule")}
    write_whole(settings_file(**kept, mlruns=own.mlruns.resolve()), own.home / SETTINGS_FILE, mode=0o600)
    return own
