"""Settings as environment variables of this process: jobs read them as Airflow's tasks do."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

from forescale.local.airflow.environment import forescale_environment
from forescale.settings import Settings


@contextmanager
def applied(settings: Settings) -> Iterator[None]:
    """FORESCALE_… say what `settings` says for as long as the block runs."""
    before = dict(os.environ)
    os.environ.update(forescale_environment(settings))
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)
