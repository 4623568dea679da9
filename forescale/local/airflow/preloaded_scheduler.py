"""Airflow's scheduler with the libraries of the jobs loaded before it forks: a task starts in one second, not in four.

Only libraries, never the project's own code: a changed job must be picked up by the next task. Not Spark, which brings
a Java process, nor what a single job uses (Prophet, statsmodels).
"""

import importlib
import sys

LIBRARIES = ("numpy", "pandas", "pyarrow.parquet", "scipy.optimize", "scipy.stats", "networkx", "alembic", "mlflow")


def main() -> None:
    """`airflow scheduler` with the arguments given, once the libraries that are installed are loaded."""
    from airflow.__main__ import main as airflow

    for library in LIBRARIES:
        try:
            importlib.import_module(library)
        except ImportError:  # an installation without that extra has no job that needs it
            continue
    sys.argv[:1] = ["airflow", "scheduler"]
    airflow()


if __name__ == "__main__":
    main()
