"""Sources of a topology that could not be forecast the last time, and why, for the page on all forecasts."""

import json
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

from forecasting.bounded_file import bounded_text
from forescale.files.atomic import write_whole

FILE = "failures.json"


def write_failures(folder: Path, at: datetime, causes: Mapping[str, str]) -> None:
    """Replace the stored causes by source. Raises OSError."""
    write_whole(json.dumps({"at": at.isoformat(), "causes": dict(causes)}, indent=1), folder / FILE)


def read_failures(folder: Path) -> dict[str, str]:
    """Causes by source; empty if nothing was forecast yet or the file is not readable as ours."""
    try:
        causes = json.loads(bounded_text(folder / FILE))["causes"]
    except (OSError, ValueError, KeyError, TypeError):
        return {}
    return {str(source): str(cause) for source, cause in causes.items()} if isinstance(causes, dict) else {}
