"""Routing: which share of a stream's tuples each instance of the operator that reads it gets."""

import numpy as np
import numpy.typing as npt

from modeling.errors import ModelError
from modeling.operator_profile import KeyHistogram
from modeling.topology import Engine, Grouping

Floats = npt.NDArray[np.float64]


def instance_shares(
    grouping: Grouping,
    parallelism: int,
    *,
    engine: Engine = Engine.FLINK,
    max_parallelism: int = 128,
    keys: KeyHistogram | None = None,
) -> Floats:
    """Share of the stream per instance, shape (parallelism,).

    Shares add up to 1, except under ALL, where every instance gets the whole stream. Shuffle is round robin and exactly
    even. Under fields grouping Flink's own assignment of keys is used, so the shares are exact for any parallelism
    where the histogram is; keys without a histogram spread evenly over key groups. Of the other engines only a bound is
    known: the heaviest key sits alone with an even part of the rest.
    Raises ModelError for a parallelism outside 1 to max_parallelism.
    """
    if not 1 <= parallelism <= max_parallelism:
        raise ModelError(f"parallelism {parallelism} is not between 1 and max_parallelism {max_parallelism}")
    match grouping:
        case Grouping.ALL:
            return np.ones(parallelism)
        case Grouping.GLOBAL:
            only_first = np.zeros(parallelism)
            only_first[0] = 1.0
            return only_first
        case Grouping.SHUFFLE | Grouping.FORWARD:
            return np.full(parallelism, 1 / parallelism)
        case Grouping.FIELDS if engine is Engine.FLINK:
            return _flink_key_shares(parallelism, max_parallelism, keys)
        case Grouping.FIELDS:
            return _heaviest_key_bound(parallelism, keys)


def flink_instance_of_key(key: str, parallelism: int, max_parallelism: int = 128) -> int:
    """The subtask that Flink gives a string key to (KeyGroupRangeAssignment of Flink 2).

    >>> [flink_instance_of_key(word, 4) for word in ("storm", "heron", "flink")]
    [1, 3, 3]
    """
    return flink_key_group(key, max_parallelism) * parallelism // max_parallelism


def flink_key_group(key: str, max_parallelism: int) -> int:
    """The key group of a string key: murmur hash of Java's String.hashCode, modulo max_parallelism."""
    return _murmur(_java_string_hash(key)) % max_parallelism


def _flink_key_shares(parallelism: int, max_parallelism: int, keys: KeyHistogram | None) -> Floats:
    owner = np.arange(max_parallelism) * parallelism // max_parallelism
    groups_held = np.bincount(owner, minlength=parallelism) / max_parallelism
    if keys is None:
        return groups_held
    shares = groups_held * max(0.0, 1 - keys.total)
    for key, share in keys.shares.items():
        shares[owner[flink_key_group(key, max_parallelism)]] += share
    return shares


def _heaviest_key_bound(parallelism: int, keys: KeyHistogram | None) -> Floats:
    heaviest = max(keys.shares.values(), default=0.0) if keys else 0.0
    shares = np.full(parallelism, (1 - heaviest) / parallelism)
    shares[0] += heaviest
    return shares


def _java_string_hash(text: str) -> int:
    """String.hashCode: over UTF-16 code units, 32-bit signed overflow (returned unsigned)."""
    units = np.frombuffer(text.encode("utf-16-le"), dtype="<u2")
    code = 0
    for unit in units.tolist():
        code = (31 * code + unit) & 0xFFFFFFFF
    return code


def _murmur(code: int) -> int:
    """MathUtils.murmurHash of Flink: 32-bit murmur3 of one int, made non-negative."""
    mask = 0xFFFFFFFF
    code = code * 0xCC9E2D51 & mask
    code = (code << 15 | code >> 17) & mask
    code = code * 0x1B873593 & mask
    code = (code << 13 | code >> 19) & mask
    code = (code * 5 + 0xE6546B64) & mask
    code ^= 4
    code ^= code >> 16
    code = code * 0x85EBCA6B & mask
    code ^= code >> 13
    code = code * 0xC2B2AE35 & mask
    code ^= code >> 16
    signed = code - 2**32 if code >= 2**31 else code
    return 0 if signed == -(2**31) else abs(signed)
