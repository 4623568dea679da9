"""Checks that wait for one another, and for no server without end."""

import threading

from forescale.doctor.examination import AilmentError, Check, CheckVerdict, Finding, NotUsedError, examined


def _found(*checks: Check) -> dict[str, Finding]:
    return {finding.check: finding for finding in examined(checks, (KeyError,))}


def _ill() -> str:
    raise AilmentError("no load", "start it")


def test_findings__come_in_the_order_in_which_things_are_needed() -> None:
    assert list(_found(Check("a", lambda: "", ["b"]), Check("b", lambda: ""), Check("c", lambda: ""))) == [
        "a",
        "b",
        "c",
    ]


def test_a_check_whose_needs_are_not_good__is_not_made() -> None:
    made = []
    found = _found(
        Check("cluster", _ill),
        Check("rights", lambda: made.append("rights") or "good", ["cluster"]),
        Check("slots", lambda: made.append("slots") or "good", ["rights"]),
    )
    assert made == []
    assert (found["cluster"].verdict, found["cluster"].detail, found["cluster"].remedy) == (
        "bad",
        "no load",
        "start it",
    )
    assert (found["rights"].verdict, found["rights"].detail) == ("not checked", "cluster must be good first")
    assert found["slots"].detail == "rights must be good first"


def test_needs__are_of_the_same_topology_or_of_what_all_share() -> None:
    checks = [
        Check("settings", lambda: "fine"),
        Check("file", _ill, ["settings"], of="a"),
        Check("file", lambda: "fine", ["settings"], of="b"),
        Check("arrivals", lambda: "fine", ["file"], of="a"),
        Check("arrivals", lambda: "fine", ["file"], of="b"),
    ]
    verdicts = {(found.of, found.check): found.verdict for found in examined(checks, ())}
    assert verdicts["a", "arrivals"] is CheckVerdict.UNCHECKED
    assert verdicts["b", "arrivals"] is CheckVerdict.GOOD


def test_checks__run_side_by_side() -> None:
    """Each waits for the other two: one after the other, none would ever end."""
    together = threading.Barrier(3)
    checks = [Check(name, lambda: str(together.wait(120) >= 0), limit_s=240.0) for name in "abc"]
    assert {finding.verdict for finding in examined(checks, ())} == {CheckVerdict.GOOD}


def test_a_server_that_never_answers__is_given_up() -> None:
    never = threading.Event()
    found = _found(Check("MLflow", lambda: str(never.wait()), limit_s=0.05), Check("ledger", lambda: "answers"))
    assert (found["MLflow"].verdict, found["MLflow"].detail) == ("bad", "no answer within 0.05 s")
    assert found["ledger"].verdict is CheckVerdict.GOOD
    never.set()


def test_an_expected_error__is_told_whole_on_one_line() -> None:
    def fails() -> str:
        raise ValueError("port 9 refuses;\n start the server")

    found = _found(Check("cluster", fails))["cluster"]
    assert (found.verdict, found.detail, found.remedy) == ("bad", "port 9 refuses; start the server", "")


def test_a_defect__hides_nothing_else() -> None:
    def breaks() -> str:
        raise ZeroDivisionError("oops")

    def idle() -> str:
        raise NotUsedError("nobody uses it")

    found = _found(Check("a", breaks), Check("b", idle), Check("c", lambda: "fine"))
    assert found["a"].verdict is CheckVerdict.BAD
    assert "ZeroDivisionError: oops" in found["a"].detail
    assert (found["b"].verdict, found["b"].detail) == ("not checked", "nobody uses it")
    assert found["c"].verdict is CheckVerdict.GOOD
