"""Loops over numbers and arrays as machine code."""

from collections.abc import Callable
from typing import TypeVar, cast

import numba

_Function = TypeVar("_Function", bound=Callable[..., object])


def compiled(function: _Function) -> _Function:
    """The function as Numba compiles it when it is called first. Its code is kept for later processes, beside its file
    or in the user's cache folder, where one of them can be written.

    What it calls has to stand in the same file: kept code is made anew when that file changes, and no other one is
    looked at. It takes and gives numbers, tuples and arrays. NUMBA_DISABLE_JIT=1 leaves it in Python, for a debugger.
    """
    try:
        return cast(_Function, numba.njit(cache=True, error_model="numpy")(function))
    except RuntimeError:  # no folder to keep it in
        return cast(_Function, numba.njit(error_model="numpy")(function))
