"""The registry of engines against the sections that a topology file can hold."""

import inspect
import subprocess
import sys
from typing import Any, get_args

import pytest

from forescale.cli.init import init
from forescale.files.arrivals_section import ArrivalsSection
from forescale.files.cluster_section import ClusterSection
from forescale.wiring.engines.registry import DESCRIBED, ENGINES


def _kinds(section: Any) -> dict[type, str]:
    """The kinds of an annotated union of sections, by class, whether or not they are tagged."""
    union = get_args(section)[0]
    members = [get_args(member)[0] if get_args(member) else member for member in get_args(union)]
    return {member: get_args(member.model_fields["kind"].annotation)[0] for member in members}


@pytest.mark.parametrize(("role", "section"), [("arrivals", ArrivalsSection), ("cluster", ClusterSection)])
def test_every_kind_of_a_section__has_an_engine_of_that_word(role: str, section: Any) -> None:
    roles = {engine.kind: getattr(engine, role) for engine in ENGINES}
    assert {part.section: kind for kind, part in roles.items() if part is not None} == _kinds(section)


def test_engines__have_words_of_their_own() -> None:
    kinds = [engine.kind for engine in ENGINES]
    assert len(set(kinds)) == len(kinds)


def test_init__has_an_option_for_every_engine_that_describes_jobs() -> None:
    options = {f"--{name.replace('_', '-')}" for name in inspect.signature(init).parameters}
    for jobs in DESCRIBED.values():
        assert {jobs.option} | jobs.uses | jobs.needs <= options


def test_login__takes_fields_of_the_section_of_the_engine() -> None:
    for engine in ENGINES:
        if engine.jobs is not None and engine.cluster is not None:
            assert engine.jobs.login <= set(engine.cluster.section.model_fields)


@pytest.mark.slow
def test_the_registry__loads_no_client_of_an_engine() -> None:
    """Airflow parses DAGs every half minute: what an engine needs is loaded when the engine is used."""
    script = "import sys, forescale.wiring.engines.registry; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()
    assert not {
        "confluent_kafka",
        "kubernetes",
        "pyspark",
        "planner.clusters.flink",
        "planner.clusters.simulator",
    } & set(loaded)
