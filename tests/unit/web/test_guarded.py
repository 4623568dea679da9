"""What a page may do is what our own pages say; any other page may do nothing."""

import pytest

pytest.importorskip("fastapi")

from sample_decision import sample_decision

from forescale.report.decision.page import render_report
from forescale.web.app import FRAMED, NOTHING, page, picture

HASH = "'sha256-" + 43 * "A" + "='"
OURS = (
    f"default-src 'none'; script-src {HASH}; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; "
    "form-action 'none'"
)


def policy_of(text: str) -> str:
    return page(text).headers["content-security-policy"]


def with_policy(policy: str) -> str:
    return f'<!doctype html><meta http-equiv="Content-Security-Policy" content="{policy}">'


def test_a_report__runs_its_own_scripts_and_nothing_else() -> None:
    policy = policy_of(render_report(sample_decision()))
    scripts = policy.split("script-src ")[1].split(";")[0].split()
    assert len(scripts) == 2
    assert all(script.startswith("'sha256-") for script in scripts)
    assert policy.endswith(FRAMED)


def test_the_policy_of_a_page__is_sent_as_it_stands_there() -> None:
    assert policy_of(with_policy(OURS)) == f"{OURS}; {FRAMED}"


@pytest.mark.parametrize(
    "more",
    [
        "script-src *",
        "script-src 'unsafe-inline'",
        OURS.replace(HASH, f"{HASH} https://evil.example"),
        OURS.replace("img-src data:", "img-src *"),
        f"{OURS}; connect-src *",
        "",
    ],
)
def test_a_page_that_allows_itself_more__may_do_nothing(more: str) -> None:
    assert policy_of(with_policy(more)) == f"{NOTHING}; {FRAMED}"


def test_a_page_without_a_policy__may_do_nothing() -> None:
    assert policy_of("<script>alert(1)</script>") == f"{NOTHING}; {FRAMED}"


def test_no_answer__is_kept_by_others_or_guessed_at() -> None:
    for answer in (page("x"), picture("<svg/>")):
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert FRAMED in answer.headers["content-security-policy"]
