"""Where an installation finds its bundled files, and where it keeps data by default.

In a checkout, folders are beside the packages. A wheel carries them within this package, and keeps no data there: an
upgrade would delete it.
"""

import os
from pathlib import Path
from typing import Literal

# Not resolved: with a link such as /opt/forescale → /opt/forescale-1.2, an upgrade must take effect.
PACKAGE = Path(__file__).absolute().parent
PROJECT = PACKAGE.parent
"""The checkout; for an installed wheel, the folder of all packages, where we must neither search nor keep data."""
IN_CHECKOUT = not (PACKAGE / "dags").is_dir()


def bundled(folder: Literal["dags", "examples"]) -> Path:
    """A folder that comes with the code, read-only."""
    return (PROJECT if IN_CHECKOUT else PACKAGE) / folder


def default_home() -> Path:
    """Default of FORESCALE_HOME: var of the checkout, or ~/.local/share/forescale."""
    return PROJECT / "var" if IN_CHECKOUT else _user_folder("XDG_DATA_HOME", ".local/share")


def download_cache() -> Path:
    """Folder for downloads with a locked hash: .cache of the checkout, or ~/.cache/forescale."""
    return PROJECT / ".cache" if IN_CHECKOUT else _user_folder("XDG_CACHE_HOME", ".cache")


def _user_folder(variable: str, below_user: str) -> Path:
    return Path(os.environ.get(variable) or Path.home() / below_user) / "forescale"
