"""Labels of points that lie close to each other."""

from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from forescale.report.replay.labels import LINE_PX, ROW_PX, placed_labels


def test_a_point_by_itself__has_its_label_at_once_above_it() -> None:
    (found,) = placed_labels([(100.0, 50.0)], [40.0], (400.0, 300.0))
    assert (found.line_px, found.shift_px) == (LINE_PX, 0)
    assert (found.box.left, found.box.low) == (100, 50 + LINE_PX)


def test_labels_to_the_left__go_above_those_that_they_would_touch() -> None:
    left, right = placed_labels([(100.0, 0.0), (120.0, 0.0)], [60.0, 60.0], (400.0, 300.0))
    assert right.line_px == LINE_PX
    assert left.line_px >= LINE_PX + ROW_PX
    # Far enough apart, none has to give way.
    assert {each.line_px for each in placed_labels([(100.0, 0.0), (180.0, 0.0)], [60.0, 60.0], (400.0, 300.0))} == {
        LINE_PX
    }


def test_a_label__ends_within_the_area() -> None:
    (found,) = placed_labels([(390.0, 0.0)], [60.0], (400.0, 300.0))
    assert (found.shift_px, found.box.right) == (50, 400)


POINTS = st.lists(st.tuples(st.floats(0, 500), st.floats(0, 100)), max_size=12)


@given(POINTS)
def test_labels__never_touch_where_there_is_room(points: list[tuple[float, float]]) -> None:
    # Twelve rows of 16, halves of them in between and four rows of points fit many times into the height.
    found = placed_labels(points, [80.0] * len(points), (600.0, 2000.0))
    assert not any(one.box.touches(other.box) for one, other in combinations(found, 2))
