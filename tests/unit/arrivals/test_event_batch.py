"""Rows as arrays: what they are made of, which of them cannot be counted, and that ids are told apart."""

import numpy as np
import pyarrow as pa
import pytest

from forecasting.arrivals.counting.event_batch import MAX_WEIGHT, EventBatch, event_batch, hashed


def rows(**columns: object) -> EventBatch:
    """A batch of rows from the source web, a microsecond apart, with these columns."""
    size = len(next(iter(columns.values())))  # type: ignore[call-overload]
    return event_batch(
        pa.table({"time": pa.array(range(size), pa.int64()), "source": pa.array(["web"] * size), **columns})
    )


@pytest.mark.parametrize("column", ["time", "source", "arrived", "weight"])
def test_rows_without_what_they_cannot_be_counted_without__are_unusable(column: str) -> None:
    kind = pa.string() if column == "source" else pa.int64()
    batch = rows(**{column: pa.array([None, "mail" if column == "source" else 5, None], kind)})
    assert (batch.unusable, batch.time_us.size) == (2, 1)


def test_row_without_two_of_them__is_unusable_once() -> None:
    batch = rows(time=pa.array([None, 7], pa.int64()), source=pa.array([None, "web"]), weight=pa.array([-1, 2]))
    assert (batch.unusable, batch.time_us.tolist()) == (1, [7])


def test_weights__are_whole_from_zero_to_the_largest_that_adds_up_exactly() -> None:
    batch = rows(weight=pa.array([-1, 0, MAX_WEIGHT, MAX_WEIGHT + 1, None], pa.int64()))
    assert (batch.unusable, batch.time_us.tolist()) == (3, [1, 2])


@pytest.mark.parametrize("as_codes", [False, True])
def test_sources__are_named_without_blanks_around_and_none_is_blank(as_codes: bool) -> None:
    given = pa.array(["web", " web", "", "mail\t", " \n", "mail"])
    batch = rows(source=given.dictionary_encode() if as_codes else given)
    assert batch.unusable == 2
    assert [batch.source.names[code] for code in batch.source.codes] == ["web", "web", "mail", "mail"]
    # So that each is counted as one.
    assert len(set(batch.source.codes.tolist())) == 2


def test_null_among_the_names_of_a_dictionary__is_null() -> None:
    codes = pa.array([0, 1, None, 0], pa.int8())
    batch = rows(
        source=pa.DictionaryArray.from_arrays(codes, pa.array(["web", None])),
        key=pa.DictionaryArray.from_arrays(pa.array([0, 0, 0, 1]), pa.array([None, "loans"])),
        id=pa.DictionaryArray.from_arrays(pa.array([1, 0, 0, 0]), pa.array([None, "a"])),
    )
    assert (batch.unusable, batch.time_us.tolist()) == (2, [0, 3])
    assert batch.key is not None
    assert [code >= 0 for code in batch.key.codes] == [False, True]
    assert batch.identified is not None
    assert batch.identified.tolist() == [True, False]


def test_columns_that_there_are_none_of__are_none() -> None:
    batch = rows(time=pa.array([1], pa.int64()))
    assert (batch.key, batch.ids, batch.identified, batch.weight, batch.arrived_us) == (None,) * 5


TEXTS = ["", "a", "b", "ab", "ba", "a\0", "\0a", "\0", "\0\0", "ä", "漢字", *("x" * n for n in range(2, 40))]


@pytest.mark.parametrize(
    "kind",
    [
        pa.string(),
        pa.large_string(),
        pa.dictionary(pa.int8(), pa.string()),
        pa.dictionary(pa.int32(), pa.large_string()),
    ],
)
def test_texts__have_equal_hashes_where_they_are_equal_alone(kind: pa.DataType) -> None:
    given = hashed(pa.array(TEXTS * 2).cast(kind))
    assert given[: len(TEXTS)].tolist() == given[len(TEXTS) :].tolist() == hashed(pa.array(TEXTS)).tolist()
    assert len(set(given.tolist())) == len(TEXTS)


def test_hash__does_not_depend_on_where_in_an_array_a_text_lies() -> None:
    whole = pa.array(["zz", None, *TEXTS, "zz"])
    assert hashed(whole.slice(2, len(TEXTS))).tolist() == hashed(pa.array(TEXTS)).tolist()
    assert hashed(pa.array(TEXTS[::-1])).tolist()[::-1] == hashed(pa.array(TEXTS)).tolist()


@pytest.mark.parametrize("kind", [pa.int8(), pa.int64(), pa.uint8(), pa.uint64()])
def test_whole_numbers__have_hashes_of_their_own_whatever_their_width(kind: pa.DataType) -> None:
    ends = [0, 1, 100] + ([] if str(kind).startswith("u") else [-1, -100])
    ends += [2**63 - 1, -(2**63)] if kind == pa.int64() else [2**64 - 1, 2**63] if kind == pa.uint64() else []
    given = hashed(pa.array(ends, kind))
    assert len(set(given.tolist())) == len(ends)
    wide = pa.uint64() if str(kind).startswith("u") else pa.int64()
    assert given.tolist() == hashed(pa.array(ends, wide)).tolist()


def test_hashes__spread_evenly_over_their_high_bits() -> None:
    # 65536 ids in 64 buckets: 1024 each, with a standard deviation of about 32; 6 of these is 192.
    for ids in (pa.array(range(65536)), pa.array([f"call-{n:08}" for n in range(65536)])):
        sizes = np.bincount((hashed(ids) >> np.uint64(58)).astype(np.int64), minlength=64)
        assert np.abs(sizes - 1024).max() < 192
