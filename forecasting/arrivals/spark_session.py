"""One Spark session with settings that suit counting: loopback only, UTC, few shuffle partitions, quiet."""

import logging
import os
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from forecasting.errors import HistoryError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_LOGGING = Path(__file__).with_name("log4j2.properties")
_JAVA_REMEDY = "install Java 17 or later (Debian: openjdk-17-jre-headless), or set JAVA_HOME to it"


def spark_session(
    master: str,
    app: str,
    *,
    driver_memory: str = "1g",
    shuffle_partitions: int = 4,
    driver_java_options: str = "-XX:+UseParallelGC",
    settings: Mapping[str, str] | None = None,
) -> "SparkSession":
    """The session of this process; `with` stops it at the end. A session that already runs is returned as it is.

    driver_memory: heap of the JVM, as Spark writes it (`2g`); with a local master all work happens in it.
    driver_java_options: throughput collector by default: counting gains 1.7 times over Spark's default collector.
    settings: further ones of Spark, which win over those made here; on a cluster, what its executors get.
    Raises HistoryError without PySpark, without Java, or where the session does not start.
    """
    if (java := _java()) is None:
        raise HistoryError(f"Spark needs Java, and there is none on PATH or under JAVA_HOME; {_JAVA_REMEDY}")
    try:
        from pyspark.errors import PySparkException
        from pyspark.sql import SparkSession
    except ImportError:
        raise HistoryError("PySpark is not installed; install forescale with the extra `spark`") from None
    # It tells of every connection that it closes, also when standard error is closed already.
    logging.getLogger("py4j").setLevel(logging.WARNING)
    # Workers must be this very interpreter, else a UDF meets other packages. Both are read before the JVM starts.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    if master.startswith("local"):
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    builder = SparkSession.builder.master(master).appName(app)
    for key, value in {
        "spark.driver.memory": driver_memory,
        "spark.driver.extraJavaOptions": f"{driver_java_options} -Dlog4j2.configurationFile={_LOGGING.as_uri()}",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": str(shuffle_partitions),
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        # Rows are counted in blocks: large ones are faster, and their size is bounded whatever a row holds.
        "spark.sql.execution.arrow.maxRecordsPerBatch": "500000",
        "spark.sql.execution.arrow.maxBytesPerBatch": str(64 * 1024 * 1024),
        **(settings or {}),
    }.items():
        builder = builder.config(key, value)
    try:
        return builder.getOrCreate()
    except PySparkException as error:
        raise HistoryError(f"Spark does not start on master {master!r} with {java}: {error}; {_JAVA_REMEDY}") from error


def _java() -> str | None:
    home = os.environ.get("JAVA_HOME")
    if home and (Path(home) / "bin" / "java").exists():
        return str(Path(home) / "bin" / "java")
    # Spark itself looks nowhere else than under JAVA_HOME when it is set.
    return None if home else shutil.which("java")
