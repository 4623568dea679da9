"""The interpreter of the rivals, whose libraries are not dependencies of the project."""

import hashlib
import subprocess
import sys
from pathlib import Path


def rivals_python(environment: Path, lock: Path, without: str) -> Path:
    """The interpreter of an environment, which is made if it is missing or differs from the lock.

    without: arguments with which the benchmark does not need the rivals.
    """
    python, ready = environment / "bin" / "python", environment / ".ready"
    locked = hashlib.sha256(lock.read_bytes()).hexdigest()
    if not ready.exists() or ready.read_text() != locked:
        uv = Path(sys.executable).with_name("uv")
        print(f"installing the rivals into {environment}", file=sys.stderr, flush=True)
        try:
            subprocess.run([uv, "venv", "--quiet", "--clear", "--python", sys.executable, environment], check=True)
            sync = [uv, "pip", "sync", "--quiet", "--require-hashes", "--compile-bytecode", "--python", python, lock]
            subprocess.run(sync, check=True)
        except (OSError, subprocess.CalledProcessError) as error:
            raise SystemExit(
                f"the rivals cannot be installed from {lock}: {error}; run `make setup` first, or measure without "
                f"them: {without}"
            ) from None
        ready.write_text(locked)
    return python
