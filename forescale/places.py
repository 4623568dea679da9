"""Where an installation finds what comes with it, and what it keeps where nothing else is said.

In a checkout, folders lie beside the packages. A wheel carries them within this package, and keeps nothing there: an
upgrade would delete it.
"""

import os
from pathlib import Path
from typing import Literal

# Not resolved: behind a link such as /opt/forescale → /opt/forescale-1.2 an upgrade must be found where links point.
PACKAGE = Path(__file__).absolute().parent
PROJECT = PACKAGE.parent
"""The checkout; of an installed wheel the folder of all packages, where nothing of ours may be looked for or kept."""
IN_CHECKOUT = not (PACKAGE / "dags").is_dir()


def bundled(folder: Literal["dags", "examples"]) -> Path:
    """What comes with the code, to be read only."""
    return (PROJECT if IN_CHECKOUT else PACKAGE) / folder


def default_home() -> Path:
    """What FORESCALE_HOME is where nobody says: var of the checkout, or ~/.local/share/forescale."""
    return PROJECT / "var" if IN_CHECKOUT else _user_folder("XDG_DATA_HOME", ".local/share")


def download_cache() -> Path:
    """For what is fetched once under a locked hash: .cache of the checkout, or ~/.cache/forescale."""
    return PROJECT / ".cache" if IN_CHECKOUT else _user_folder("XDG_CACHE_HOME", ".cache")


def _user_folder(variable: str, below_user: str) -> Path:
    return Path(os.environ.get(variable) or Path.home() / below_user) / "forescale"
