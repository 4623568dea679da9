"""A race on a real engine: the same job and load under several ways to scale, and the replay of the same, beside it.

    python benchmarks/race.py --trace FILE --work DIR [--day 2015-01-29] [--minutes-a-day 48] [--hours 24]
                              [--policies static-peak,hpa-70,flink-autoscaler,guard,planner]
                              [--peak 6] [--table]

A real Kafka, a real Flink. A job reads events and computes .01 s for each; every task manager has one slot and a tenth
of a core. One day of a trace is played compressed, each policy in turn: with 48 minutes a day, a minute of the trace is
two seconds. Policies are the replay's own objects, with all their windows in the trace's time: what they see is
measured on the engine, and what they ask for is asked of Flink. `flink-autoscaler` decides as the library does, which
the tests compare case by case; `hpa-70` sees processor time over quota; `planner` forecasts each hour from what its own
reader of Kafka's offsets has counted by then. Not compressed: the downtime of a rescale, checkpoints (2 s) and the 3 s
over which metrics are averaged, so the target of the lag is longer than in production: --target-lag, in seconds of the
race.

Before the first race, the capacity of an instance and the downtime are measured; all policies and the replay know them.
--work keeps each finished policy: an interrupted race goes on with the next. race.md there is the table, race.svg shows
the planner and Flink's autoscaler. Needs root and cgroup v1, and `bash scripts/tools.sh jdk kafka flink_kafka`.
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

# A script's own folder comes first, where a module is named like one of the packages; its helpers lie in others.
sys.path.pop(0)
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
sys.path.insert(0, str(Path(__file__).with_name("race_job")))

from calibration import Calibrated, measured_engine
from contest import CORES, MOST, WORK_S, RaceTerms, contest_of
from course import CourseTerms, raced
from engine import READ, WORK, RacedEngine, raced_engine
from kafka_broker import KafkaBrokerError
from kafka_forecasts import KafkaForecasts, RacedTopic
from load import RaceLoad, race_load
from outcome import Raced, kept, written
from race_picture import DRAWN, race_picture
from race_tables import race_table

from forescale.files.atomic import write_whole
from forescale.jobs.workers import worker_processes
from forescale.local.errors import ServiceError
from planner.errors import ClusterError, PlanError
from planner.replay.contest import FORECASTING, POLICIES, Contest, check_policy, run_one
from planner.replay.own_budget import policy_of
from planner.replay.pipeline_forecasts import PipelineForecasts
from planner.replay.policy import Policy
from planner.replay.run import Replayed

USUAL = ("static-peak", "hpa-70", "flink-autoscaler", "flink-autoscaler-tuned", "guard", "planner")
PAST_DAYS = 28.0
BY_CPU = "hpa"


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


@dataclass(frozen=True)
class Race:
    """load_of: the load, by the events a second of the race in the day's largest minute. peak: in full instances."""

    load_of: Callable[[float], RaceLoad]
    peak: float
    terms: RaceTerms
    work: Path

    def file(self, name: str) -> Path:
        return self.work / f"{name}.json"

    def load(self, known: Calibrated) -> RaceLoad:
        return self.load_of(self.peak * known.per_instance_s)

    def contest(self, known: Calibrated) -> Contest:
        return contest_of(self.load(known), self.terms, known)


def calibrated(race: Race, engine: RacedEngine) -> Calibrated:
    """As measured before, or now."""
    file = race.file("engine")
    if not file.exists():
        found = measured_engine(engine, WORK_S, CORES, say)
        file.write_text(json.dumps(asdict(found)), encoding="utf-8")
    return Calibrated(**json.loads(file.read_text(encoding="utf-8")))


def run(race: Race, names: Sequence[str]) -> None:
    """Race the policies that have not been."""
    with (
        tempfile.TemporaryDirectory(prefix="race-") as folder,
        raced_engine(Path(folder), MOST + 1) as engine,
        worker_processes(2) as executor,
    ):
        known = calibrated(race, engine)
        contest, load = race.contest(known), race.load(known)
        for name in names:
            if race.file(name).exists():
                continue
            terms = CourseTerms(
                contest.topology,
                load,
                WORK_S,
                CORES,
                known.per_instance_s / load.speed,
                MOST,
                by_cpu=policy_of(name).startswith(BY_CPU),
            )
            say(f"{name}: {load.raced.sum()} events in {load.raced.size * 60 / load.speed:.0f} s")
            policy = _policy(race, load, contest, name, engine, executor)
            written(raced(name, engine, terms, contest.first()[WORK], policy, say), race.file(name))


def _policy(
    race: Race, load: RaceLoad, contest: Contest, name: str, engine: RacedEngine, executor: Executor
) -> Callable[[str], Policy]:
    base, own = policy_of(name), contest.within_budget_of(name)

    def policy(topic: str) -> Policy:
        if base not in FORECASTING:
            return POLICIES[base](own, 0)
        start_s = load.known.start_s
        read = RacedTopic(engine.servers, topic, own.topology.name, load.source, start_s, race.terms.forecast)
        forecasts = KafkaForecasts(read, executor, load.start_s, race.terms.forecast_every_s)
        return POLICIES[base](replace(own, forecasts=forecasts), 0)

    return policy


def replays(race: Race, known: Calibrated, names: Sequence[str]) -> Mapping[str, Replayed]:
    """The same day under the same policies, on the simulated engine."""
    contest = race.contest(known)
    if FORECASTING & set(map(policy_of, names)):
        forecasts = PipelineForecasts(
            race.terms.history(race.load(known)),
            race.terms.forecast,
            round(PAST_DAYS),
            86400.0,
            race.work / "forecasts",
            every_s=race.terms.forecast_every_s,
        )
        with worker_processes(1) as executor:
            for note in forecasts.prepare(contest.load.start_s, contest.load.end_s, executor, lambda made, of: None):
                say(note)
        contest = replace(contest, forecasts=forecasts)
    return {name: run_one(contest, name, 0) for name in names}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trace", type=Path, required=True, help="CSV file with the columns timestamp and count")
    parser.add_argument("--work", type=Path, required=True, help="folder for all that is made")
    parser.add_argument("--day", help="of the trace, as 2015-01-29, UTC; by default its last whole one")
    parser.add_argument("--minutes-a-day", type=float, default=48.0)
    parser.add_argument("--hours", type=float, default=24.0, help="of that day")
    parser.add_argument("--policies", default=",".join(USUAL))
    parser.add_argument("--peak", type=float, default=6.0, help="instances that the day's largest minute fills")
    parser.add_argument("--target-lag", type=float, default=15.0, help="seconds of the race")
    parser.add_argument("--allow", type=float, default=0.01, help="share of the minutes that may miss it")
    parser.add_argument("--table", action="store_true", help="show what there is, and race nothing")
    asked = parser.parse_args()
    names = asked.policies.split(",")
    try:
        for name in names:
            check_policy(name)
        day = None if asked.day is None else datetime.fromisoformat(asked.day).replace(tzinfo=UTC)

        def load_of(peak_per_s: float) -> RaceLoad:
            whole = race_load(asked.trace, READ, day, peak_per_s, asked.minutes_a_day, PAST_DAYS)
            return whole.within(round(60 * asked.hours))

        asked.work.mkdir(parents=True, exist_ok=True)
        race = Race(load_of, asked.peak, RaceTerms(asked.target_lag, asked.allow), asked.work)
        if not asked.table:
            run(race, names)
        there = [name for name in names if race.file(name).exists()]
        if not there:
            parser.exit(1, f"nothing was raced in {asked.work}; leave --table out\n")
        known = Calibrated(**json.loads(race.file("engine").read_text(encoding="utf-8")))
        simulated = replays(race, known, there)
        done: dict[str, Raced] = {name: kept(race.file(name), race.contest(known).topology) for name in there}
    except (ServiceError, KafkaBrokerError, ClusterError, PlanError) as error:
        parser.exit(1, f"{error}\n")
    table = race_table(race.load(known), race.terms, known, done, simulated)
    write_whole(table, asked.work / "race.md")
    if DRAWN.keys() & done.keys():
        write_whole(race_picture(done, race.load(known).speed), asked.work / "race.svg")
    print(table)


if __name__ == "__main__":
    main()
