"""Loops that are kept as machine code."""

import inspect
import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path

from numba.core.dispatcher import Dispatcher

HERE = Path(__file__).parents[2]
LOOPS = """
from modeling.compiled import compiled

@compiled
def summed(values):
    total = 0.0
    for value in values:
        total += value
    return total

@compiled
def later(values):
    return values * 2 if summed(values) > 0 else values
"""
RUN = "import sys, numpy, loops; array = numpy.array([1.0, 2.0, 3.0]); print(loops.summed(array))"
RULES = "print('numba.np.arraymath' in sys.modules)"


def test_a_compiled_function__calls_compiled_functions_of_its_own_file_alone() -> None:
    """Numba does not see that another file has changed, and would go on with the machine code of before."""
    users = [path for room in ("modeling", "planner") for path in (HERE / room).rglob("*.py")]
    modules = [
        import_module(".".join(path.relative_to(HERE).with_suffix("").parts))
        for path in users
        if "import compiled" in path.read_text()
    ]
    functions = [each for module in modules for each in vars(module).values() if isinstance(each, Dispatcher)]
    assert len(functions) > 10
    for function in functions:
        names = inspect.getclosurevars(function.py_func).globals
        foreign = [
            name
            for name, each in names.items()
            if isinstance(each, Dispatcher) and each.__module__ != function.__module__
        ]
        assert not foreign, f"{function.__module__}.{function.__name__} calls {foreign}"


def test_cached_code__runs_without_the_compilers_rules_and_what_is_new_is_compiled(tmp_path: Path) -> None:
    (tmp_path / "loops.py").write_text(LOOPS)
    runs = [
        subprocess.run(
            [sys.executable, "-c", code],
            env=dict(os.environ) | {"PYTHONPATH": f"{HERE}{os.pathsep}{tmp_path}", "NUMBA_CACHE_DIR": str(tmp_path)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.split()
        for code in (f"{RUN}; {RULES}", f"{RUN}; {RULES}", f"{RUN}; {RULES}; import loops; print(*loops.later(array))")
    ]
    assert runs == [["6.0", "True"], ["6.0", "False"], ["6.0", "False", "2.0", "4.0", "6.0"]]
