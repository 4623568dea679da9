"""Loops that are kept as machine code."""

import inspect
from importlib import import_module
from pathlib import Path

from numba.core.dispatcher import Dispatcher

HERE = Path(__file__).parents[2]


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
