"""The assignment of keys to instances, computed as each engine's own code does."""

from collections.abc import Callable, Mapping
from enum import StrEnum
from functools import lru_cache

import numpy as np

from modeling.arrays import Floats, Ints
from modeling.errors import ModelError
from modeling.inputs.key_histogram import KeyHistogram, KeyType
from modeling.inputs.topology import Engine
from modeling.wording import count_of

THROWS = 1024
"""Number of random assignments of light keys: the mean of the busiest instance is then accurate to some tenths of a per
cent.
"""


@lru_cache(maxsize=4096)
def key_shares(engine: Engine, parallelism: int, max_parallelism: int, keys: KeyHistogram | None) -> Floats:
    """Share of a keyed stream per instance, shape (parallelism,), summing to 1; read-only.

    Exact if all keys are named and their hashes are known (unplaced). Unnamed light keys, assumed equal,
    and named keys of unknown hash fall at random on key groups (Flink), tasks (Storm) or instances (Heron): shares are
    then the expected ones of the busiest instance, the second, and so on. If the number of light keys is unknown, the
    fewest possible are assumed, which makes the busiest instance busier on average than more keys would. If Heron's
    hashes are unknown, the heaviest key is alone with an even part of the rest.
    """
    codes = {} if keys is None else key_codes(keys)
    match engine:
        case Engine.FLINK:
            owner = np.arange(max_parallelism) * parallelism // max_parallelism
            shares = _by_group(owner, parallelism, keys, codes, lambda code: _murmur(code) % max_parallelism)
        case Engine.STORM:
            owner = storm_executors_of_tasks(max_parallelism, parallelism)
            shares = _by_group(owner, parallelism, keys, codes, lambda code: _storm_task(code, max_parallelism))
        case Engine.HERON:
            if keys is not None and not set(keys.shares) <= set(keys.hashes):
                shares = _heaviest_key_bound(parallelism, keys)
            else:
                codes = {} if keys is None else dict(keys.hashes)
                shares = _by_group(np.arange(parallelism), parallelism, keys, codes, lambda code: code % parallelism)
    shares.flags.writeable = False
    return shares


class Unplaced(StrEnum):
    """Why key_shares are expected values or a bound. KEYS: no key is known. NUMBER: the number of light keys is not.
    HASHES: nor is the hash of a named key. CHANCE: everything is known that can be, and light keys fall by chance.
    """

    KEYS = "keys"
    NUMBER = "number"
    HASHES = "hashes"
    CHANCE = "chance"


def unplaced(engine: Engine, keys: KeyHistogram | None) -> Unplaced | None:
    """Why key_shares are not exact; None if every key is named and its hash known. Heron hashes the serialised bytes of
    a key, which only it knows, so the histogram must contain the hashes.
    """
    if keys is None or keys.measured_at is not None or (not keys.shares and keys.distinct_keys is None):
        return Unplaced.KEYS
    codes = keys.hashes if engine is Engine.HERON else key_codes(keys)
    if any(codes.get(key) is None for key in keys.shares):
        return Unplaced.HASHES
    if keys.whole:
        return None
    return Unplaced.NUMBER if keys.distinct_keys is None else Unplaced.CHANCE


@lru_cache(maxsize=4096)
def busiest_share_bounds(
    engine: Engine, parallelism: int, max_parallelism: int, keys: KeyHistogram
) -> tuple[float, float] | None:
    """Share of the busiest instance at the 5th and the 95th percentile of random assignments of the keys whose hash is
    unknown; None if there are none, and for Heron, whose bound is the heaviest key's.
    """
    if engine is Engine.HERON or all(code is not None for code in key_codes(keys).values()):
        return None
    owner = (
        np.arange(max_parallelism) * parallelism // max_parallelism
        if engine is Engine.FLINK
        else storm_executors_of_tasks(max_parallelism, parallelism)
    )
    held: Floats = np.bincount(owner, minlength=parallelism) / owner.size
    busiest = (_thrown(keys.shares, owner, parallelism) + held * keys.residual).max(axis=1)
    low, high = np.quantile(busiest, (0.05, 0.95))
    return float(low), float(high)


def key_codes(keys: KeyHistogram) -> dict[str, int | None]:
    """Java's hashCode of each named key, unsigned; None where neither its type nor its hash is known.

    >>> key_codes(KeyHistogram({"4294967298": 0.5}, key_type=KeyType.LONG))  # 1 · 2³² + 2: 1 XOR 2
    {'4294967298': 3}
    """
    hash_of = _HASHES.get(keys.hashed_as)
    return {
        key: keys.hashes[key] & 0xFFFFFFFF if key in keys.hashes else None if hash_of is None else hash_of(key)
        for key in keys.shares
    }


def flink_instance_of_key(key: str, parallelism: int, max_parallelism: int = 128) -> int:
    """The subtask to which Flink assigns a string key (KeyGroupRangeAssignment of Flink 2).

    >>> [flink_instance_of_key(word, 4) for word in ("storm", "heron", "flink")]
    [1, 3, 3]
    """
    return flink_key_group(key, max_parallelism) * parallelism // max_parallelism


def flink_key_group(key: str, max_parallelism: int) -> int:
    """The key group of a string key: murmur hash of Java's String.hashCode, modulo max_parallelism."""
    return _murmur(java_string_hash(key)) % max_parallelism


def _storm_task(code: int, tasks: int) -> int:
    """The task, counted from 0, to which Storm's fields grouping assigns a single string field with this hashCode.

    floorMod of Arrays.deepHashCode of the list of fields (TupleUtils.chooseTaskIndex): 31 + hashCode for one string.

    >>> _storm_task(java_string_hash("a"), 10)  # 31 + 97 = 128
    8
    """
    code = (31 + code) & 0xFFFFFFFF
    return (code - (1 << 32) if code >= 1 << 31 else code) % tasks


def storm_executors_of_tasks(tasks: int, executors: int) -> Ints:
    """The executor of each task, shape (tasks,): contiguous, larger parts first (Utils.partitionFixed).

    >>> storm_executors_of_tasks(5, 2).tolist()
    [0, 0, 0, 1, 1]
    """
    if not 1 <= executors <= tasks:
        raise ModelError(
            f"{count_of(executors, 'executor')} for {count_of(tasks, 'task')}; give 1 to {tasks}, or start with "
            "more tasks"
        )
    base, more = divmod(tasks, executors)
    sizes = np.full(executors, base, dtype=np.int64)
    sizes[:more] += 1
    return np.repeat(np.arange(executors, dtype=np.int64), sizes)


def java_string_hash(text: str) -> int:
    """String.hashCode: over UTF-16 code units, 32-bit signed overflow (returned unsigned)."""
    units = np.frombuffer(text.encode("utf-16-le"), dtype="<u2")
    code = 0
    for unit in units.tolist():
        code = (31 * code + unit) & 0xFFFFFFFF
    return code


def java_long_hash(number: int) -> int:
    """Long.hashCode: upper XOR lower half, unsigned."""
    return (number ^ (number >> 32)) & 0xFFFFFFFF


_HASHES: Mapping[KeyType, Callable[[str], int]] = {
    KeyType.STRING: java_string_hash,
    KeyType.LONG: lambda key: java_long_hash(int(key)),
    KeyType.INTEGER: lambda key: int(key) & 0xFFFFFFFF,
}
"""hashCode of a key by its text. That of other types depends on their code."""


def _by_group(
    owner: Ints,
    parallelism: int,
    keys: KeyHistogram | None,
    codes: Mapping[str, int | None],
    group_of: Callable[[int], int],
) -> Floats:
    """Shares of instances that own groups of keys. owner: instance of each group. codes: hash of each key, None if
    unknown. group_of: by the hash.
    """
    held: Floats = np.bincount(owner, minlength=parallelism) / owner.size
    if keys is None:
        return held
    named, unplaced = np.zeros(parallelism), dict[str, float]()
    for key, share in keys.shares.items():
        if (code := codes[key]) is None:
            unplaced[key] = share
        else:
            named[owner[group_of(code)]] += share
    light = None if keys.whole or parallelism == 1 else keys.light_keys
    shares = named + held * (keys.residual + sum(unplaced.values()))
    if light is None and not (unplaced and parallelism > 1):
        return shares
    loads = named + _thrown(unplaced, owner, parallelism)
    if light is not None:
        # A fixed seed, so that equal plans have equal shares.
        loads = loads + keys.residual / light * np.random.default_rng(0).multinomial(light, held, size=THROWS)
    else:
        loads = loads + held * keys.residual
    order = np.argsort(-shares, kind="stable")
    if light is None:
        # One heavy key makes an instance the busiest wherever it falls: the mean of the busiest is exact then.
        shares[order] = np.sort(loads, axis=1)[:, ::-1].mean(axis=0)
        return shares
    # Average the excess of the busiest instance over the one expected to be busiest, and so on: less noisy than the
    # shares themselves, and exact if it is always the same one.
    more = (np.sort(loads, axis=1)[:, ::-1] - loads[:, order]).mean(axis=0)
    if keys.distinct_keys is not None:
        shares[order] = np.maximum(shares[order] + more, 0.0)
        return np.asarray(shares / shares.sum())
    busiest = shares[order[0]] + more[0]
    shares *= (1 - busiest) / max(1 - shares[order[0]], 1e-300)
    shares[order[0]] = busiest
    return shares


def _thrown(shares: Mapping[str, float], owner: Ints, parallelism: int) -> Floats:
    """Shares of instances if each key falls on a random group, shape (THROWS, parallelism)."""
    loads, rng = np.zeros((THROWS, parallelism)), np.random.default_rng(1)
    for share in shares.values():
        loads[np.arange(THROWS), owner[rng.integers(owner.size, size=THROWS)]] += share
    return loads


def _heaviest_key_bound(parallelism: int, keys: KeyHistogram) -> Floats:
    heaviest = max(keys.shares.values(), default=0.0)
    shares = np.full(parallelism, (1 - heaviest) / parallelism)
    shares[0] += heaviest
    return shares


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
