"""Compiles loops over numbers and arrays to machine code."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar, cast

import numba
from numba.core.caching import FunctionCache
from numba.core.runtime.nrt import rtsys

_Function = TypeVar("_Function", bound=Callable[..., object])


class _ReadyCode(FunctionCache):
    """Cached machine code, loaded without the compiler's rules for Python and NumPy: reading those takes longer than
    most commands compute. Code that has to be compiled reads them then.
    """

    def load_overload(self, sig: object, target_context: Any) -> object:
        rtsys.initialize(target_context)  # the memory of arrays that compiled code makes
        with self._guard_against_spurious_io_errors():
            return cast(object, self._load_overload(sig, target_context))  # type: ignore[no-untyped-call]


def compiled(function: _Function) -> _Function:
    """The function, compiled by Numba at its first call. The code is cached for later processes, beside its file or in
    the user's cache folder, if writable.

    Functions that it calls must be in the same file: the cache is invalidated only when that file changes. Arguments
    and results are numbers, tuples and arrays. NUMBA_DISABLE_JIT=1 keeps it in Python, for a debugger.
    """
    dispatcher: Any = numba.njit(error_model="numpy")(function)
    if dispatcher is not function:  # as with NUMBA_DISABLE_JIT
        with suppress(RuntimeError):  # no folder for the cache
            dispatcher._cache = _ReadyCode(function)  # type: ignore[no-untyped-call]
    return cast(_Function, dispatcher)
