"""Where the jars lie that let Flink read Kafka."""

import re
from collections.abc import Sequence
from pathlib import Path

from forescale.local.errors import LocalFlinkError
from forescale.settings import PROJECT

POM = PROJECT / "tests" / "flink_kafka" / "pom.xml"
CACHE = PROJECT / ".cache" / "flink_kafka"
FLINKS_OWN = ("slf4j",)


def connector_jars() -> Sequence[Path]:
    """Raises LocalFlinkError where they are lacking."""
    version = re.search(r"<flink_kafka\.version>(.*)</", POM.read_text(encoding="utf-8"))
    assert version is not None, f"{POM} names no flink_kafka.version"
    home = CACHE / version[1]
    if not home.is_dir():
        raise LocalFlinkError(f"no Kafka connector of Flink in {home}; run: bash scripts/tools.sh flink_kafka")
    return sorted(jar for jar in home.glob("*.jar") if not jar.name.startswith(FLINKS_OWN))
