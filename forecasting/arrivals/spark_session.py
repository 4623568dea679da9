"""One Spark session with settings that suit counting: UTC, few shuffle partitions, quiet, on loopback where it can be.

It starts its own driver, on any master, or goes into the one that spark-submit has started.
"""

import logging
import os
import re
import shutil
import socket
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from forecasting.errors import HistoryError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_LOGGING = Path(__file__).with_name("log4j2.properties")
_JAVA_REMEDY = "install Java 17 or later (Debian: openjdk-17-jre-headless), or set JAVA_HOME to it"
_CLUSTER_REMEDY = "check the URL of the master, that it has live workers, and what they and the lines above say"
_LOOPBACK = ("127.0.0.1", "localhost")
_ANSWERS_WITHIN_S = 5.0
# glibc's malloc, which others ignore: a Python worker that hands the arrays of every batch back to the system, and asks
# for them again, counts half as fast.
_WORKERS_MALLOC = {
    "spark.executorEnv.MALLOC_TRIM_THRESHOLD_": str(128 * 1024 * 1024),
    "spark.executorEnv.MALLOC_MMAP_THRESHOLD_": str(32 * 1024 * 1024),
}


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
    Run by spark-submit, the session has the master and every setting that spark-submit was given; they win over all of
    these.
    Raises HistoryError without PySpark, without Java, where a standalone master does not answer, or where the session
    does not start.
    """
    submitted = "PYSPARK_GATEWAY_PORT" in os.environ
    java = _java()
    if java is None and not submitted:
        raise HistoryError(f"Spark needs Java, and there is none on PATH or under JAVA_HOME; {_JAVA_REMEDY}")
    try:
        from py4j.protocol import Py4JError  # type: ignore[import-untyped]
        from pyspark import SparkConf, SparkContext
        from pyspark.errors import PySparkException
        from pyspark.sql import SparkSession
    except ImportError:
        raise HistoryError("PySpark is not installed; install forescale with the extra `spark`") from None
    # It tells of every connection that it closes, also when standard error is closed already.
    logging.getLogger("py4j").setLevel(logging.WARNING)
    wanted = {
        "spark.master": master,
        "spark.app.name": app,
        "spark.driver.memory": driver_memory,
        "spark.driver.extraJavaOptions": f"{driver_java_options} -Dlog4j2.configurationFile={_LOGGING.as_uri()}",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": str(shuffle_partitions),
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        # Rows are counted in blocks: large ones are faster, and their size is bounded whatever a row holds, so that the
        # heap of the JVM is not filled with few of them.
        "spark.sql.execution.arrow.maxRecordsPerBatch": "500000",
        "spark.sql.execution.arrow.maxBytesPerBatch": str(8 * 1024 * 1024),
        # Most of what is shuffled are hashes, of which compression saves little.
        "spark.shuffle.compress": "false",
        **_WORKERS_MALLOC,
        **(settings or {}),
    }
    if submitted:
        # The connection to the driver, without which the configuration would be empty.
        SparkContext._ensure_initialized()
        wanted.update(SparkConf().getAll())
    master = wanted["spark.master"]
    # Workers must be this very interpreter, else a UDF meets other packages; or, on a cluster, what was told to be
    # one like it. This and the address of the driver are read before the JVM starts.
    os.environ.setdefault("PYSPARK_PYTHON", wanted.get("spark.pyspark.python", sys.executable))
    if on_this_machine(master):
        os.environ.setdefault("SPARK_LOCAL_IP", _LOOPBACK[0])
    _ask(master)
    builder = SparkSession.builder
    for key, value in wanted.items():
        builder = builder.config(key, value)
    try:
        return builder.getOrCreate()
    except (PySparkException, Py4JError) as error:
        _clear_away()
        remedy = _JAVA_REMEDY if master.startswith("local") else _CLUSTER_REMEDY
        raise HistoryError(
            f"Spark does not start on master {master!r} with {java}: {one_line(error)}; {remedy}"
        ) from error


def on_this_machine(master: str) -> bool:
    """Whether all workers of a master are: it is a local one, or answers on loopback alone."""
    hosts = {host for host, _ in _standalone(master)}
    return master.startswith("local") or bool(hosts & set(_LOOPBACK))


def _java() -> str | None:
    home = os.environ.get("JAVA_HOME")
    if home and (Path(home) / "bin" / "java").exists():
        return str(Path(home) / "bin" / "java")
    # Spark itself looks nowhere else than under JAVA_HOME when it is set.
    return None if home else shutil.which("java")


def _ask(master: str) -> None:
    """Raises HistoryError where no standalone master listens: Spark would ask for a minute, and not say whom. And
    where nothing tells where YARN is, which Spark answers with a trace.
    """
    if master == "yarn" and not {"HADOOP_CONF_DIR", "YARN_CONF_DIR"} & set(os.environ):
        raise HistoryError("Spark's master 'yarn' needs Hadoop's configuration; set HADOOP_CONF_DIR to its folder")
    refusals = []
    for host, port in _standalone(master):
        try:
            socket.create_connection((host, port), timeout=_ANSWERS_WITHIN_S).close()
        except OSError as error:
            refusals.append(f"{host}:{port}: {error.strerror or error}")
        else:
            return
    if refusals:
        raise HistoryError(
            f"Spark's master {master} does not answer ({'; '.join(refusals)}); start it, or correct its URL"
        )


def _standalone(master: str) -> list[tuple[str, int]]:
    """Hosts and ports in spark://host:port,host:port; none for other masters, and for what Spark cannot read either."""
    if not master.startswith("spark://"):
        return []
    try:
        places = [urlsplit(f"//{place}") for place in master.removeprefix("spark://").split(",")]
        return [(place.hostname, place.port) for place in places if place.hostname and place.port]
    except ValueError:
        return []


def _clear_away() -> None:
    """A context that came up and went at once would be handed to whoever tries again."""
    from pyspark import SparkContext

    if (left := SparkContext._active_spark_context) is not None:
        left.stop()


def one_line(error: Exception) -> str:
    """What Spark says and the innermost reason, without the traces below them and Spark's own names of the error."""
    messages, java = [], getattr(error, "java_exception", None)
    while java is not None:
        messages.append(_first_line(java.getMessage() or java.toString()))
        java = java.getCause()
    # That of a result which was waited for says nothing else.
    messages = (
        [message for message in messages if "awaitResult" not in message] or messages or [_first_line(str(error))]
    )
    outer, inner = messages[0], messages[-1]
    return outer if inner in outer else f"{outer}: {inner}"


def _first_line(message: str) -> str:
    return re.sub(r"^\[[A-Z_.]+\] |\s*SQLSTATE: \w+", "", message.strip().splitlines()[0]).rstrip(". ")
