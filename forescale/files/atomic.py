"""Text files that appear whole: a reader sees the old file or the new one, never half of it."""

import os
from pathlib import Path
from tempfile import NamedTemporaryFile


def write_whole(text: str, path: Path, *, anew: bool = False) -> Path:
    """Written beside it under a name of its own, so that writers do not meet; the last one stands.

    anew: only where there is no such file yet, else FileExistsError. Raises OSError.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with NamedTemporaryFile("w", encoding="utf-8", newline="\n", dir=path.parent, suffix=".part", delete=False) as part:
        try:
            part.write(text)
            part.flush()
            os.fsync(part.fileno())
            Path(part.name).chmod(0o644)
            if anew:
                path.hardlink_to(part.name)
                Path(part.name).unlink()
            else:
                Path(part.name).replace(path)
        except BaseException:
            Path(part.name).unlink(missing_ok=True)
            raise
    return path
