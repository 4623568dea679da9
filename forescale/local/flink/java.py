"""The Java that Flink runs on and its example job is built with."""

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from forescale.local.errors import LocalFlinkError

MIN_JAVA = 17
_REMEDY = f"install a JDK of version {MIN_JAVA} or newer, or point JAVA_HOME at one"


@dataclass(frozen=True)
class Java:
    """Programs of one JDK. version: the major one."""

    java: Path
    javac: Path
    jar: Path
    version: int


def find_java() -> Java:
    """The JDK of JAVA_HOME, or else of PATH. Raises LocalFlinkError if there is none or it is too old."""
    programs = {name: _program(name) for name in ("java", "javac", "jar")}
    java = programs["java"]
    try:
        answer = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=30, check=True)
    except (OSError, subprocess.SubprocessError) as error:
        raise LocalFlinkError(f"{java} -version failed: {error}; {_REMEDY}") from None
    found = re.search(r'version "(?:1\.)?(\d+)', answer.stderr + answer.stdout)
    if found is None:
        raise LocalFlinkError(f"{java} -version does not report its version: {answer.stderr[:200]!r}; {_REMEDY}")
    version = int(found[1])
    if version < MIN_JAVA:
        raise LocalFlinkError(f"{java} is Java {version} < {MIN_JAVA}; {_REMEDY}")
    return Java(java, programs["javac"], programs["jar"], version)


def _program(name: str) -> Path:
    home = os.environ.get("JAVA_HOME")
    found = shutil.which(name, path=str(Path(home) / "bin")) if home else shutil.which(name)
    if found is None:
        raise LocalFlinkError(f"no {name} in {'JAVA_HOME=' + home if home else 'PATH'}; {_REMEDY}")
    return Path(found)
