"""A program of others: it ends in time, and what it prints is bounded.

Run as a script (`bounded_command.py SECONDS PROGRAM ARGUMENT…`) it bounds a program that a library starts. It then
needs nothing but Python.
"""

import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

MOST_BYTES = 16 << 20
"""What a program may print, on each of its two outputs."""
TIME_OUT, TOO_LONG, NOT_RUN = 124, 125, 127
"""Exit codes of the script, if the program did not end in time, printed too much or could not be run."""


class OutputTooLongError(OSError):
    """A program printed more than it may, and was stopped."""

    def __init__(self) -> None:
        super().__init__(None, f"it printed more than {MOST_BYTES >> 20} MiB and was stopped")


def run_bounded(call: Sequence[str], timeout_s: float) -> "subprocess.CompletedProcess[str]":
    """Run a program without input; stop it with all that it started if it exceeds a bound.

    Raises subprocess.TimeoutExpired, OutputTooLongError, or another OSError if it cannot be run.
    """
    with subprocess.Popen(
        call, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
    ) as process:
        try:
            out, err = _outputs(process, call, timeout_s)
        except BaseException:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            raise
    return subprocess.CompletedProcess(call, process.returncode, out, err)


def _outputs(process: "subprocess.Popen[bytes]", call: Sequence[str], timeout_s: float) -> tuple[str, str]:
    ends_s = time.monotonic() + timeout_s
    parts: dict[str, bytearray] = {"out": bytearray(), "err": bytearray()}
    with selectors.DefaultSelector() as selector:
        for name, pipe in (("out", process.stdout), ("err", process.stderr)):
            assert pipe is not None
            selector.register(pipe, selectors.EVENT_READ, name)
        while selector.get_map():
            if (left_s := ends_s - time.monotonic()) <= 0:
                raise subprocess.TimeoutExpired(call, timeout_s)
            for key, _ in selector.select(left_s):
                content = os.read(key.fd, 1 << 16)
                parts[key.data] += content
                if not content:
                    selector.unregister(key.fileobj)
                if len(parts[key.data]) > MOST_BYTES:
                    raise OutputTooLongError
    process.wait(max(0.0, ends_s - time.monotonic()))
    return parts["out"].decode(errors="replace"), parts["err"].decode(errors="replace")


def bounding(call: Sequence[str], timeout_s: float) -> list[str]:
    """The command line that runs a program within these bounds, for a library that starts it."""
    return [sys.executable, "-I", "-S", str(Path(__file__).resolve()), f"{timeout_s:g}", *call]


def main() -> None:
    timeout_s, *call = sys.argv[1:]
    try:
        done = run_bounded(call, float(timeout_s))
    except subprocess.TimeoutExpired:
        sys.exit(TIME_OUT)
    except OutputTooLongError:
        sys.exit(TOO_LONG)
    except OSError:
        sys.exit(NOT_RUN)
    sys.stdout.write(done.stdout)
    sys.stderr.write(done.stderr)
    sys.exit(done.returncode if done.returncode >= 0 else 128 - done.returncode)


if __name__ == "__main__":
    main()
