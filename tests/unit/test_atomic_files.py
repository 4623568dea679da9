"""Files that are written whole: what killed writers leave, and what living ones are about to finish."""

import subprocess
import sys
from pathlib import Path

from forescale.files.atomic import PREFIX, SUFFIX, write_whole

WRITER = """
import os, sys, time
from pathlib import Path
from forescale.files.atomic import write_whole
os.fsync = lambda _: (print("amid", flush=True), time.sleep(60))
write_whole("half", Path(sys.argv[1]))
"""


def _writer_amid_its_file(path: Path) -> subprocess.Popen[str]:
    writer = subprocess.Popen([sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE, text=True)
    assert writer.stdout is not None
    assert writer.stdout.readline() == "amid\n"
    return writer


def test_next_writer__removes_what_a_killed_one_left_and_not_what_a_living_one_writes(tmp_path: Path) -> None:
    with _writer_amid_its_file(tmp_path / "killed") as killed, _writer_amid_its_file(tmp_path / "living") as living:
        killed.kill()
        killed.wait()
        assert len(list(tmp_path.glob(f"{PREFIX}*{SUFFIX}"))) == 2
        write_whole("text", tmp_path / "other")
        assert len(list(tmp_path.glob(f"{PREFIX}*{SUFFIX}"))) == 1
        living.kill()
    write_whole("text", tmp_path / "other")
    assert [path.name for path in tmp_path.iterdir()] == ["other"]
    assert (tmp_path / "other").read_text() == "text"
