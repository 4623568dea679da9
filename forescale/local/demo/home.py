"""The demo's own folder below FORESCALE_HOME: emptied before each run, so that running it twice is safe."""

import fcntl
import shutil
from collections.abc import Iterator
from contextlib import contextmanager

from forescale.settings import Settings
from planner.errors import PlanError


def demo_settings(base: Settings, name: str, **changes: object) -> Settings:
    """The same settings with a separate home, so that the demo does not touch other data."""
    return base.model_copy(update={"home": base.home / name, **changes})


@contextmanager
def fresh_home(settings: Settings) -> Iterator[None]:
    """An empty home for the duration of the block. Raises PlanError while another run uses it."""
    home = settings.home.resolve()
    home.mkdir(parents=True, exist_ok=True)
    home.chmod(0o700)  # settings, logs and passwords of local services lie in it
    with (home.parent / f"{home.name}.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise PlanError(f"{home} is in use by another run; wait until it has ended, or stop it") from None
        for path in home.iterdir():
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        yield
