"""The assignment of keys to instances, computed as each engine's own code does."""

from collections.abc import Callable
from functools import lru_cache

import numpy as np

from modeling.arrays import Floats, Ints
from modeling.errors import ModelError
from modeling.inputs.key_histogram import KeyHistogram
from modeling.inputs.topology import Engine
from modeling.wording import count_of

THROWS = 1024
"""Number of random assignments of light keys: the mean of the busiest instance is then accurate to some tenths of a per
cent.
"""


@lru_cache(maxsize=4096)
def key_shares(engine: Engine, parallelism: int, max_parallelism: int, keys: KeyHistogram | None) -> Floats:
    """Share of a keyed stream per instance, shape (parallelism,), summing to 1; read-only.

    Exact if all keys are named and the engine's assignment is known (key_shares_are_exact). Unnamed light keys, assumed
    equal, fall at random on key groups (Flink), tasks (Storm) or instances (Heron): shares are then the expected ones
    of the busiest instance, the second, and so on. If their number is unknown, the fewest possible are assumed, which
    makes the busiest instance busier on average than more keys would. If Heron's hashes are unknown, the heaviest key
    is alone with an even part of the rest.
    """
    match engine:
        case Engine.FLINK:
            owner = np.arange(max_parallelism) * parallelism // max_parallelism
            shares = _by_group(owner, parallelism, keys, lambda key: flink_key_group(key, max_parallelism))
        case Engine.STORM:
            owner = storm_executors_of_tasks(max_parallelism, parallelism)
            shares = _by_group(owner, parallelism, keys, lambda key: storm_task_of_key(key, max_parallelism))
        case Engine.HERON:
            if keys is not None and not set(keys.shares) <= set(keys.hashes):
                shares = _heaviest_key_bound(parallelism, keys)
            else:
                hashes = {} if keys is None else keys.hashes
                shares = _by_group(np.arange(parallelism), parallelism, keys, lambda key: hashes[key] % parallelism)
    shares.flags.writeable = False
    return shares


def key_shares_are_exact(engine: Engine, keys: KeyHistogram | None) -> bool:
    """Whether key_shares are exact, neither expected values nor a bound. Heron hashes the serialised bytes of a key,
    which only it knows, so the histogram must contain the hashes. Without a histogram the keys are unknown.
    """
    if keys is None or not keys.whole:
        return False
    return engine is not Engine.HERON or set(keys.shares) <= set(keys.hashes)


def flink_instance_of_key(key: str, parallelism: int, max_parallelism: int = 128) -> int:
    """The subtask to which Flink assigns a string key (KeyGroupRangeAssignment of Flink 2).

    >>> [flink_instance_of_key(word, 4) for word in ("storm", "heron", "flink")]
    [1, 3, 3]
    """
    return flink_key_group(key, max_parallelism) * parallelism // max_parallelism


def flink_key_group(key: str, max_parallelism: int) -> int:
    """The key group of a string key: murmur hash of Java's String.hashCode, modulo max_parallelism."""
    return _murmur(java_string_hash(key)) % max_parallelism


def storm_task_of_key(key: str, tasks: int) -> int:
    """The task, counted from 0, to which Storm's fields grouping assigns a single string field.

    floorMod of Arrays.deepHashCode of the list of fields (TupleUtils.chooseTaskIndex): 31 + hashCode for one string.

    >>> storm_task_of_key("a", 10)  # 31 + 97 = 128
    8
    """
    code = (31 + java_string_hash(key)) & 0xFFFFFFFF
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


def _by_group(owner: Ints, parallelism: int, keys: KeyHistogram | None, group_of: Callable[[str], int]) -> Floats:
    """Shares of instances that own groups of keys. owner: instance of each group."""
    held: Floats = np.bincount(owner, minlength=parallelism) / owner.size
    if keys is None:
        return held
    named = np.zeros(parallelism)
    for key, share in keys.shares.items():
        named[owner[group_of(key)]] += share
    shares = named + held * keys.residual
    light = None if keys.whole or parallelism == 1 else keys.light_keys
    if light is None:
        return shares
    # A fixed seed, so that equal plans have equal shares.
    loads = named + keys.residual / light * np.random.default_rng(0).multinomial(light, held, size=THROWS)
    order = np.argsort(-shares, kind="stable")
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
