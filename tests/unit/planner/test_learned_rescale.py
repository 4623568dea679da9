"""What past deployments teach of the next one."""

import pytest

from modeling.errors import ModelError
from planner.learned_rescale import MeasuredDeployment, learned_rescale


def _stopped(*downtimes_s: float) -> list[MeasuredDeployment]:
    return [MeasuredDeployment(each) for each in downtimes_s]


@pytest.mark.parametrize("known", [[], _stopped(25.0), [MeasuredDeployment(None)] * 5, _stopped(0.0, 0.0, 25.0)])
def test_declared_terms__hold_until_two_deployments_were_measured(known: list[MeasuredDeployment]) -> None:
    learned = learned_rescale(known, 60.0, 300.0)
    assert (learned.downtime.seconds, learned.downtime.deployments) == (60, 0)
    assert (learned.lead.seconds, learned.lead.deployments) == (300, 0)
    assert learned.model is None


@pytest.mark.parametrize(
    ("downtimes_s", "expected_s"),
    [
        # The declared 60 s stands twice beside what was measured: the middle of 24, 26, 60, 60 …
        ((24.0, 26.0), 43.0),
        ((24.0, 25.0, 26.0), 26.0),
        ((24.0, 24.0, 25.0, 25.0), 25.0),
        # … and one that went wrong is one of many.
        ((24.0, 24.0, 25.0, 25.0, 900.0), 25.0),
        ((24.0, 900.0), 60.0),
    ],
)
def test_downtime__is_the_median_with_the_declared_one_as_two_more(
    downtimes_s: tuple[float, ...], expected_s: float
) -> None:
    learned = learned_rescale(_stopped(*downtimes_s), 60.0, 300.0)
    assert learned.downtime.seconds == pytest.approx(expected_s)
    assert learned.downtime.deployments == len(downtimes_s)


def test_lead_time__is_learnt_of_deployments_that_added_instances() -> None:
    known = [MeasuredDeployment(25.0, lead_s) for lead_s in (80.0, None, 90.0, 85.0, None, 90.0)]
    lead = learned_rescale(known, 25.0, 300.0).lead
    # 80, 85, 90, 90, 300, 300
    assert (lead.seconds, lead.deployments) == (90, 4)


def _with_state(*pairs: tuple[float, float]) -> list[MeasuredDeployment]:
    return [MeasuredDeployment(took_s, state_gib=gib) for gib, took_s in pairs]


def test_downtime__follows_the_state_where_its_sizes_differed() -> None:
    # 20 s + 8 s a GiB; now there are 10 GiB.
    known = _with_state(*((gib, 20 + 8 * gib) for gib in (10.0, 8.0, 6.0, 4.0, 2.0, 1.0, 0.5, 3.0, 5.0, 7.0)))
    learned = learned_rescale(known, 30.0, 0.0)
    assert learned.model is not None
    assert (learned.model.restart_s, learned.model.restore_s_per_gib) == pytest.approx((20, 8), rel=0.1)
    assert learned.downtime.seconds == pytest.approx(100, rel=0.05)


def test_downtime__that_follows_the_state_leaves_out_what_went_wrong() -> None:
    straight = [(gib, 20 + 8 * gib) for gib in (10.0, 8.0, 6.0, 4.0, 2.0, 1.0, 5.0)]
    learned = learned_rescale(_with_state(*straight, (1.0, 1500.0)), 30.0, 0.0)
    assert learned.downtime.seconds == pytest.approx(100, rel=0.1)
    assert (learned.downtime.deployments, learned.downtime.known) == (7, 8)


def test_downtime__of_a_state_that_was_about_the_same_is_the_median() -> None:
    learned = learned_rescale(_with_state((4.0, 40.0), (4.1, 41.0), (4.2, 42.0), (4.0, 40.0), (4.1, 41.0)), 30.0, 0.0)
    assert learned.model is None
    # 30, 30, 40, 40, 41, 41, 42
    assert learned.downtime.seconds == 40


def test_measured_deployment__refuses_what_cannot_be() -> None:
    with pytest.raises(ModelError, match=r"lead_s is -1.*leave this deployment out"):
        MeasuredDeployment(25.0, -1.0)
