"""Compiles loops over numbers and arrays to machine code."""

from collections.abc import Callable
from typing import TypeVar, cast

import numba

_Function = TypeVar("_Function", bound=Callable[..., object])


def compiled(function: _Function) -> _Function:
    """The function, compiled by Numba at its first call. The code is cached for later processes, beside its file or in
    the user's cache folder, if writable.

    Functions that it calls must be in the same file: the cache is invalidated only when that file changes. Arguments
    and results are numbers, tuples and arrays. NUMBA_DISABLE_JIT=1 keeps it in Python, for a debugger.
    """
    try:
        return cast(_Function, numba.njit(cache=True, error_model="numpy")(function))
    except RuntimeError:  # no folder for the cache
        return cast(_Function, numba.njit(error_model="numpy")(function))
