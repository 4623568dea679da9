"""The picture of a decision: the figure of the report, without a script."""

from dataclasses import replace
from datetime import timedelta
from xml.etree import ElementTree

import pytest
from sample_decision import SOURCE, sample_decision

from forescale.report.decision.decision import DecisionReport
from forescale.report.decision.page import decision_picture

SVG = "{http://www.w3.org/2000/svg}"


def drawn(decision: DecisionReport) -> ElementTree.Element:
    return ElementTree.fromstring(decision_picture(decision))


def test_picture__has_the_band_the_capacity_and_a_mark_for_each_step() -> None:
    decision = sample_decision()
    polygons = [each for each in drawn(decision).iter(f"{SVG}polygon") if each.get("points") != "6,-10 0,0 12,0"]
    triangles = [each for each in polygons if len(each.get("points", "").split()) == 3]
    assert len(triangles) == len(decision.schedule.steps)
    (band,) = (each for each in polygons if each not in triangles)
    # Down and back: two edges of a forecast of 288 steps.
    assert len(band.get("points", "").split()) == 2 * decision.forecasts[SOURCE].rate_per_s.shape[0]


def test_picture__numbers_its_marks_by_step_and_keeps_no_more_than_they_show_where_it_is_small() -> None:
    decision = sample_decision()
    picture = drawn(decision)
    large = [each for each in picture.iter() if "large" in (each.get("class") or "").split()]
    numbers = [each.text for each in large if (each.text or "").isdigit()]
    assert numbers == [f"{index + 1}" for index in range(len(decision.schedule.steps))]
    # The key is the part of the picture that no reader of 300 pixels misses.
    assert all(each in large for each in picture.iter(f"{SVG}g") if each.find(f"{SVG}rect") is not None)
    (style,) = picture.iter(f"{SVG}style")
    assert "@media (max-width: 480px)" in (style.text or "")
    assert ".large { display: none }" in (style.text or "")


def test_picture__stays_within_its_frame() -> None:
    for shape in drawn(sample_decision()).iter():
        for place in shape.get("points", "").split():
            x, y = map(float, place.split(","))
            assert -7 <= x <= 867
            assert -15 <= y <= 217


@pytest.mark.parametrize("name", ["<script>alert(1)</script>", '"/><image href="x"/>', "&lt;b&gt;"])
def test_picture__shows_a_hostile_name_as_text(name: str) -> None:
    hostile, tame = drawn(sample_decision(source=name)), drawn(sample_decision(source="x"))
    assert [each.tag for each in hostile.iter()] == [each.tag for each in tame.iter()]
    assert any(name[:20] in (each.text or "") for each in hostile.iter())


def test_picture__is_drawn_without_a_forecast() -> None:
    decision = replace(sample_decision(), forecasts={}, capacity=())
    assert list(drawn(decision).iter(f"{SVG}polyline"))


def test_picture__leaves_the_number_of_a_step_that_is_due_at_once_free() -> None:
    """A digit of 12 units is 7 wide, and in the middle of its mark."""
    picture = drawn(sample_decision())
    (decided,) = (each for each in picture.iter(f"{SVG}text") if each.text == "decided")
    (line,) = (each for each in picture.iter(f"{SVG}line") if each.get("stroke-dasharray"))
    assert decided.get("text-anchor") == "end"
    assert float(decided.get("x", "")) < float(line.get("x1", "")) - 7 / 2


@pytest.mark.parametrize("hour", range(0, 24, 5))
def test_times__are_whole_in_the_small_picture(hour: int) -> None:
    """Of 30 units; a letter is at most .6 of that wide, and the frame ends 12 right of the figure."""
    decision = sample_decision()
    later = timedelta(hours=hour)
    schedule = replace(decision.schedule, end=decision.schedule.end + later)
    for each in drawn(replace(decision, schedule=schedule)).iter(f"{SVG}text"):
        looks = (each.get("class") or "").split()
        if "time" in looks and "large" not in looks:
            width = 0.6 * 30 * len(each.text or "")
            assert float(each.get("x", "")) + (width / 2 if "last" in looks else width) <= 860 + 12
