"""What resource quotas leave, by hand arithmetic."""

from typing import Any

import pytest

from planner.clusters.kubernetes_quota import PodsWanted, beyond_quota, pods_left


def _quota(hard: dict[str, str], used: dict[str, str], **spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": "few"}, "spec": {"hard": hard, **spec}, "status": {"hard": hard, "used": used}}


def _template(**resources: dict[str, str]) -> dict[str, Any]:
    return {"spec": {"containers": [{"resources": resources}, {"resources": {"limits": {"cpu": "100m"}}}]}}


@pytest.mark.parametrize(
    ("hard", "used", "resources", "pods", "said"),
    [
        ({"pods": "10"}, {"pods": "7"}, {}, 3, None),
        ({"pods": "10"}, {"pods": "7"}, {}, 4, "4 more of pods > 3 left"),
        ({"count/pods": "10"}, {"count/pods": "12"}, {}, 1, "1 more of count/pods > -2 left"),
        # 500m and, of the second container, its limit of 100m: 4 pods take 2.4 cores.
        ({"requests.cpu": "4"}, {"requests.cpu": "1600m"}, {"requests": {"cpu": "500m"}}, 4, None),
        (
            {"requests.cpu": "4"},
            {"requests.cpu": "1700m"},
            {"requests": {"cpu": "500m"}},
            4,
            "needs 2.4 more of requests.cpu > 2.3 left",
        ),
        ({"limits.memory": "2Gi"}, {"limits.memory": "1Gi"}, {"limits": {"memory": "512Mi"}}, 2, None),
        ({"memory": "2Gi"}, {"memory": "1Gi"}, {"limits": {"memory": "600Mi"}}, 2, "of memory > 1073741824 left"),
        ({"services": "1", "requests.storage": "1Gi"}, {"services": "1", "requests.storage": "1Gi"}, {}, 9, None),
    ],
)
def test_quota__allows_what_is_left_of_it(
    hard: dict[str, str], used: dict[str, str], resources: dict[str, Any], pods: int, said: str | None
) -> None:
    reason = beyond_quota([PodsWanted(pods, _template(**resources))], [_quota(hard, used)])
    assert (said is None) == (reason is None)
    if said is not None:
        assert said in str(reason)
        assert "by resourcequota/few; raise the quota, or lower a parallelism" in str(reason)


def test_quota__counts_what_shrinks_against_what_grows() -> None:
    """3 pods more and 2 less are 1 more, which is left."""
    quota = _quota({"pods": "10"}, {"pods": "9"})
    assert beyond_quota([PodsWanted(3, {}), PodsWanted(-2, {})], [quota]) is None
    assert beyond_quota([PodsWanted(3, {}), PodsWanted(-1, {})], [quota]) is not None


def test_quota__of_other_pods_is_left_aside() -> None:
    batch = _quota({"pods": "0"}, {"pods": "0"}, scopes=["Terminating"])
    urgent = _quota({"pods": "0"}, {"pods": "0"}, scopeSelector={"matchExpressions": []})
    assert beyond_quota([PodsWanted(1, {})], [batch, urgent]) is None
    assert pods_left([batch, urgent]) is None


def test_pods_left__is_the_least_of_all_quotas() -> None:
    assert pods_left([_quota({"pods": "10"}, {"pods": "7"}), _quota({"pods": "5"}, {"pods": "3"})]) == 2
    assert pods_left([_quota({"cpu": "10"}, {"cpu": "7"})]) is None
