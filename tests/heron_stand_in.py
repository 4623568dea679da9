"""A stand-in for a Heron cluster, of which no binary is to be had: a tracker over HTTP and the command `heron update`.

Both answer in the shapes of Heron's last releases (its code was read), from one file of state. Nothing is processed:
counters are made up, and where new instances go is this stand-in's own simple rule.
"""

import json
import re
import stat
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from json_stand_in import JsonStandIn, Query, json_stand_in

PER_CONTAINER = 4
UP_S = 3600
RESOURCES = {"cpu": 1.0, "ram": 1073741824, "disk": 1073741824}
UPTIME = "__jvm-uptime-secs"

Packing = dict[str, list[list[Any]]]
"""Container id: of each instance its component, task id and component index."""


@dataclass(frozen=True)
class HeronStandIn:
    """url: of the tracker. client: the command. tracker: what is asked of it. file: the state."""

    url: str
    client: Path
    tracker: JsonStandIn
    file: Path

    def state(self) -> dict[str, Any]:
        return _read(self.file)

    def calls(self) -> list[list[str]]:
        """Of the command, oldest first."""
        return list(_read(self.file)["calls"])

    def change(self, **state: Any) -> None:
        """down: why every update fails; torn: why it fails once it has changed the packing; lost: components whose new
        instances do not come up.
        """
        self.file.write_text(json.dumps(_read(self.file) | state))


@contextmanager
def heron_stand_in(folder: Path) -> Iterator[HeronStandIn]:
    """words: feed (1) → split (2) → count (2)."""
    file, client = prepared(folder), folder / "heron"
    client.write_text(
        f"#!{sys.executable}\nimport sys\nsys.path.insert(0, {str(Path(__file__).parent)!r})\n"
        f"from heron_stand_in import update\nsys.exit(update({str(file)!r}, sys.argv[1:]))\n"
    )
    client.chmod(client.stat().st_mode | stat.S_IXUSR)
    with json_stand_in() as tracker:
        tracker.answers |= tracker_answers(file)
        yield HeronStandIn(tracker.url, client, tracker, file)


def prepared(folder: Path) -> Path:
    """The file of state in which the topology has just been submitted."""
    file = folder / "state.json"
    instances = [["feed", 1, 0], ["split", 2, 0], ["split", 3, 1], ["count", 4, 0], ["count", 5, 1]]
    packing = {"1": instances[:3], "2": instances[3:]}
    file.write_text(json.dumps({"packing": packing, "began": {}, "calls": [], "down": "", "torn": "", "lost": []}))
    return file


def tracker_answers(file: Path) -> dict[str, Any]:
    """By path, as JsonStandIn takes them."""
    return {
        "/topologies": lambda _: {"local": {"ubuntu": {"prod": ["words"]}, "root": {"test": ["words"]}}},
        "/topologies/physicalplan": lambda _: _physical(file),
        "/topologies/logicalplan": lambda _: _LOGICAL,
        "/topologies/packingplan": lambda _: _packing_plan(file),
        "/topologies/metrics/timeline": lambda query: _timeline(file, query),
    }


_DEFAULT = [{"stream_name": "default"}]
_LOGICAL = {
    "spouts": {"feed": {"outputs": _DEFAULT, "spout_type": "default"}},
    "bolts": {
        "split": {
            "outputs": _DEFAULT,
            "inputs": [{"component_name": "feed", "stream_name": "default", "grouping": "SHUFFLE"}],
        },
        "count": {
            "outputs": [],
            "inputs": [{"component_name": "split", "stream_name": "default", "grouping": "FIELDS"}],
        },
    },
}
_COUNTERS = {
    "feed": {"__emit-count/default": 600.0},
    "split": {
        "__execute-count/feed/default": 300.0,
        "__execute-latency/feed/default": 2e6,
        "__emit-count/default": 900.0,
    },
    "count": {"__execute-count/split/default": 900.0, "__execute-latency/split/default": 1e6},
}


def _read(file: Path) -> dict[str, Any]:
    state: dict[str, Any] = json.loads(file.read_text())
    return state


def _ids(state: dict[str, Any]) -> dict[str, list[str]]:
    ids: dict[str, list[str]] = {"feed": [], "split": [], "count": []}
    for container, instances in state["packing"].items():
        for component, task, _ in instances:
            ids[component].append(f"container_{container}_{component}_{task}")
    return ids


def _physical(file: Path) -> dict[str, Any]:
    ids = _ids(_read(file))
    return {"instances": {}, "stmgrs": {}, "spouts": {"feed": ids.pop("feed")}, "bolts": ids, "config": {}}


def _packing_plan(file: Path) -> dict[str, Any]:
    return {
        "id": "words-1",
        "container_plans": [
            {
                "id": int(container),
                "instances": [
                    {
                        "component_name": component,
                        "task_id": task,
                        "component_index": index,
                        "instance_resources": RESOURCES,
                    }
                    for component, task, index in instances
                ],
                "required_resources": RESOURCES,
                "scheduled_resources": {},
            }
            for container, instances in _read(file)["packing"].items()
        ],
    }


def _timeline(file: Path, query: Query) -> dict[str, Any]:
    """Minutes on no grid, the same for all; uptime grows by 60 s a minute."""
    state, component = _read(file), query["component"][0]
    since, until = int(query["starttime"][0]), int(query["endtime"][0])
    timeline: dict[str, Any] = {}
    for id in [] if component == "__stmgr__" else _ids(state)[component]:
        began = state["began"].get(id, int(file.stat().st_ctime) // 60 * 60 - UP_S)
        if component in state["lost"] and id in state["began"]:
            continue
        stamps = [stamp for stamp in range((since // 60) * 60, until, 60) if since - 60 < stamp and stamp + 60 > began]
        told = dict.fromkeys(stamps, 0.0)
        for metric in query["metricname"]:
            if metric == UPTIME:
                values = {stamp: max(1.0, float(stamp - began)) for stamp in told}
            elif metric in _COUNTERS[component]:
                values = dict.fromkeys(told, _COUNTERS[component][metric])
            else:
                continue
            shown = {str(stamp): f"{value:f}" for stamp, value in values.items()}
            timeline.setdefault(metric, {})[id] = shown
    return {"component": component, "starttime": since, "endtime": until, "timeline": timeline}


def update(state_file: str, call: list[str]) -> int:
    """`heron update PLACE TOPOLOGY …`, its exit code."""
    file = Path(state_file)
    state = _read(file)
    state["calls"].append(call)
    file.write_text(json.dumps(state))
    changes = [call[at + 1] for at, part in enumerate(call) if part == "--component-parallelism"]
    if call[:3] != ["update", "local/ubuntu/prod", "words"] or not changes:
        return _error(f"heron: error: unrecognized arguments: {' '.join(call)}")
    if odd := [each for each in changes if not re.fullmatch(r"[\w.-]+:\d+", each)]:
        return _error(f"Invalid component parallelism {odd[0]}")
    wanted = {name: int(count) for name, _, count in (each.rpartition(":") for each in changes)}
    ids = _ids(state)
    if unknown := sorted(set(wanted) - set(ids)):
        return _error(f"[ERROR]: Topology words does not contain component {unknown[0]}")
    if all(len(ids[name]) == count for name, count in wanted.items()):
        return _error("[ERROR]: The component parallelism request is the same as the current topology parallelism")
    new = _repacked(state["packing"], wanted)
    if "--dry-run" in call:
        sys.stdout.write(f"New packing plan:\n{_shown(new)}\nOld packing plan:\n{_shown(state['packing'])}\n")
        return 0
    if state["down"]:
        return _error(state["down"])
    now = int(time.time())
    before = {id for of in ids.values() for id in of}
    state["packing"] = new
    state["began"] |= {id: now for of in _ids(state).values() for id in of if id not in before}
    file.write_text(json.dumps(state))
    return _error(state["torn"]) if state["torn"] else 0


def _error(message: str) -> int:
    sys.stderr.write(f"{message}\n")
    return 1


def _repacked(packing: Packing, wanted: dict[str, int]) -> Packing:
    """The latest instances go, new ones fill containers in the order of their ids."""
    new = {container: list(instances) for container, instances in packing.items()}
    for name, count in wanted.items():
        mine = sorted((each for of in new.values() for each in of if each[0] == name), key=lambda each: each[1])
        for gone in mine[count:]:
            next(of for of in new.values() if gone in of).remove(gone)
        for _ in range(count - len(mine)):
            all = [each for of in new.values() for each in of]
            index = max((each[2] for each in all if each[0] == name), default=-1) + 1
            room = next((id for id, of in new.items() if len(of) < PER_CONTAINER), str(max(map(int, new)) + 1))
            new.setdefault(room, []).append([name, max(each[1] for each in all) + 1, index])
    return {container: instances for container, instances in new.items() if instances}


def _shown(packing: Packing) -> str:
    containers = [
        {
            "id": int(id),
            "resources": RESOURCES,
            "components": [{"component": c, "id": t, "index": i, "resources": RESOURCES} for c, t, i in instances],
        }
        for id, instances in packing.items()
    ]
    return json.dumps({"packingClass": "stand-in", "topology": "words", "containers": containers}, indent=2)
