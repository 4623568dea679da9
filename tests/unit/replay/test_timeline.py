"""Whoever has the timeline alone recomputes every score that is printed, without a line of this project."""

import json
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from replay_cases import Scripted, days_of, reality

from planner.clusters.engine_terms import EngineTerms
from planner.errors import PlanError
from planner.pricing.instance_cost import InstanceCost
from planner.replay.reality import Differences
from planner.replay.run import Replayed, replay
from planner.replay.scores import difference, scores
from planner.replay.timeline import Timeline, decisions_path, read_timeline, track_of, write_timeline

MAX_LAG_S = 90.0
ALLOWED = 0.01
COSTS = {"ingest": InstanceCost(0.5, 512.0, 0.0, 0.02), "work": InstanceCost(2.0, 1024.0, 3072.0, 0.1)}


@cache
def _replayed() -> list[Replayed]:
    load = days_of(0.5)
    script = {3600.0 * hour: 2 + hour for hour in range(1, 9)}
    done = []
    for name, first in (("small", 1), ("large", 5)):
        for seed in range(3):
            real = reality(load, EngineTerms(60.0, lead_s=120.0), Differences(seed, service_error=0.1))
            one = replay(Scripted(script if name == "small" else {}, first=first), load, real, {})
            done.append(replace(one, policy=name, seed=seed))
    return done


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("replay") / "timeline.parquet"
    done = _replayed()
    tracks = tuple(track_of(each, MAX_LAG_S) for each in done)
    write_timeline(Timeline("calls", MAX_LAG_S, tracks, ("a note",), COSTS, ALLOWED), path)
    return path


def test_scores__are_recomputed_from_the_timeline_alone(written: Path) -> None:
    rows, decided = pd.read_parquet(written), pd.read_parquet(decisions_path(written))
    printed = {score.policy: score for score in scores(read_timeline(written))}
    assert set(printed) == {"small", "large"}
    for policy, of in rows.groupby("policy", observed=True):
        score = printed[str(policy)]
        by_seed = of.groupby("seed")
        counted = of["plan"].map(lambda text: sum(json.loads(text).values()))
        assert (counted.astype(int) == of["instances"]).all()
        assert (of["violation"] == (of["lag_s"] > MAX_LAG_S)).all()
        assert score.seeds == 3
        assert score.instance_hours == pytest.approx(by_seed["instances"].sum().mean() / 60)
        assert score.violation_minutes == pytest.approx(by_seed["violation"].sum().mean())
        assert score.violation_share == pytest.approx(of["violation"].mean())
        beyond = [max(0.0, track["violation"].mean() - ALLOWED) for _, track in by_seed]
        assert (score.budget.asked, score.budget.used) == (ALLOWED, score.violation_share)
        assert score.budget.overdrawn == pytest.approx(sum(beyond) / 3)
        for bound, minutes in score.violation_minutes_at.items():
            assert minutes == pytest.approx((of["lag_s"] > bound).mean() * 1440)
        assert score.lag_p99_s == pytest.approx(np.percentile(of["lag_s"], 99))
        assert score.downtime_minutes == pytest.approx(by_seed["in_downtime"].sum().mean() / 60)
        effects = decided[(decided["policy"] == policy) & decided["in_effect_at"].notna()]
        assert score.rescales_per_day == pytest.approx(len(effects) / 3 / 0.5)
        recovered = [seconds for _, track in by_seed for seconds in _recoveries(track)]
        assert score.recovery_mean_s == (pytest.approx(sum(recovered) / len(recovered)) if recovered else None)
        assert score.recovery_longest_s == max(recovered, default=None)


def test_costs__are_recomputed_from_the_plans_and_the_numbers_of_an_instance(written: Path) -> None:
    rows = pd.read_parquet(written)
    told = json.loads(pq.read_schema(written).metadata[b"forescale"])["per_instance"]
    assert told == {
        "ingest": {"cores": 0.5, "memory_mib": 512.0, "state_mib": 0.0, "price_per_hour": 0.02},
        "work": {"cores": 2.0, "memory_mib": 1024.0, "state_mib": 3072.0, "price_per_hour": 0.1},
    }
    counts = pd.DataFrame([json.loads(text) for text in rows["plan"]])
    hours = {name: counts[name].groupby([rows["policy"], rows["seed"]], observed=True).sum() / 60 for name in told}
    for score in scores(read_timeline(written)):
        ingest, work = (float(hours[name][score.policy].mean()) for name in ("ingest", "work"))
        assert score.cpu_hours == pytest.approx(0.5 * ingest + 2.0 * work)
        # 3 GiB of state, whatever the parallelism, over half a day.
        assert score.memory_gib_hours == pytest.approx(0.5 * ingest + 1.0 * work + 3 * 12)
        assert score.price == pytest.approx(0.02 * ingest + 0.1 * work)


def test_costs__are_not_told_where_one_operator_is_not_known(written: Path) -> None:
    timeline = read_timeline(written)
    partly = replace(timeline, per_instance={"work": COSTS["work"], "ingest": replace(COSTS["ingest"], cores=None)})
    for score in scores(partly):
        assert score.cpu_hours is None
        assert score.price is not None
    assert {score.price for score in scores(replace(timeline, per_instance={}))} == {None}


def _recoveries(track: pd.DataFrame) -> list[int]:
    """Minute by minute: from each downtime's first to the first one in which nothing is down or waits."""
    down, waits = track["in_downtime"].tolist(), track["backlog"].tolist()
    found = []
    for begin in range(len(down)):
        if down[begin] > 0 and (begin == 0 or down[begin - 1] == 0):
            end = begin
            while end < len(down) and (down[end] > 0 or waits[end] > 0 or (end > begin and waits[end - 1] > 0)):
                end += 1
            found.append(60 * (end - begin))
    return found


def test_paired_differences__have_the_interval_of_student(written: Path) -> None:
    found = difference(read_timeline(written), "small", "large")
    rows = pd.read_parquet(written)
    late = rows[rows["violation"]].groupby(["policy", "seed"], observed=False).size().unstack(0, fill_value=0)
    apart = (late["small"] - late["large"]).to_numpy(dtype=float)
    assert found.violation_minutes == pytest.approx(apart.mean())
    # t(2, .975) = 4.303.
    half = 4.3027 * apart.std(ddof=1) / 3**0.5
    assert found.violation_minutes_interval == pytest.approx((apart.mean() - half, apart.mean() + half), rel=1e-3)


def test_a_timeline__comes_back_as_it_was(written: Path) -> None:
    found = read_timeline(written)
    assert (found.topology, found.max_lag_s, found.notes) == ("calls", MAX_LAG_S, ("a note",))
    assert (found.per_instance, found.allowed_share) == (COSTS, ALLOWED)
    made_by = {(one.policy, one.seed): track_of(one, MAX_LAG_S) for one in _replayed()}
    assert len(found.tracks) == len(made_by)
    for kept in found.tracks:
        made = made_by[kept.policy, kept.seed]
        assert [kept.plans[at] for at in kept.plan] == [made.plans[at] for at in made.plan]
        for name in ("minute", "lag_s", "backlog", "capacity_per_s", "in_downtime", "violation", "changes_s"):
            assert np.array_equal(getattr(kept, name), getattr(made, name)), name
        assert kept.decisions == made.decisions


def test_the_format__is_the_documented_one(written: Path) -> None:
    assert pq.read_schema(written).names == [
        "policy", "seed", "minute", "arrivals_per_s", "plan", "instances", "capacity_per_s", "backlog", "lag_s",
        "in_downtime", "utilisation", "violation",
    ]  # fmt: skip
    assert str(pq.read_schema(written).field("minute").type) == "timestamp[ms, tz=UTC]"
    assert pq.read_schema(decisions_path(written)).names == [
        "policy", "seed", "decided_at", "in_effect_at", "plan", "why",
    ]  # fmt: skip


def test_what_is_no_timeline__is_named(written: Path, tmp_path: Path) -> None:
    with pytest.raises(PlanError, match=r"none.parquet does not exist whole"):
        read_timeline(tmp_path / "none.parquet")
    other = tmp_path / "other.parquet"
    decisions_path(other).write_bytes(decisions_path(written).read_bytes())
    other.write_text("no parquet")
    with pytest.raises(PlanError, match=r"other.parquet is not a timeline of a replay"):
        read_timeline(other)
    pd.DataFrame({"a": [1]}).to_parquet(other)
    with pytest.raises(PlanError, match=r"other.parquet is not a timeline of a replay"):
        read_timeline(other)


def test_a_timeline_that_cannot_be_written__leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    done = _replayed()[:1]
    with pytest.raises(PlanError, match="cannot be written"):
        write_timeline(Timeline("calls", 90.0, (track_of(done[0], 90.0),)), tmp_path / "file" / "t.parquet")
    assert [each.name for each in tmp_path.iterdir()] == ["file"]
