"""What a setting may be: each check gives the remedy of a value that is refused, and the empty text for any other."""

import re
from pathlib import Path

MIN_HEAP_MIB, MAX_HEAP_MIB = 450, 1 << 24
"""Spark refuses a smaller heap (471,859,200 bytes). Larger: 16 TiB, more than any machine has."""

MOST_DIGITS = 12
"""More digits may be a key."""

TRACKERS = frozenset(
    {"http", "https", "sqlite", "postgresql", "mysql", "mssql", "databricks", "databricks-uc", "uc", "file"}
)
"""Schemes that MLflow knows."""

_MIB = {"": 2**-20, "b": 2**-20, "k": 2**-10, "m": 1.0, "g": 2.0**10, "t": 2.0**20, "p": 2.0**30}
_MASTER = re.compile(
    r"local(\[(\*|[1-9][0-9]{0,3})(,[1-9][0-9]{0,3})?\])?|local-cluster\[[0-9, ]+\]|yarn"
    r"|spark://HOST(,HOST)*|k8s://(https?://)?HOST(/[!-~]*)?".replace(
        "HOST", r"([A-Za-z0-9_.-]+|\[[0-9a-fA-F:]+\])(:[0-9]{1,5})?"
    )
)


def setting_shown(value: object) -> str:
    """A refused value as messages repeat it, if it is digits and signs. Any other text may be a secret that stands in
    the wrong line.

    >>> setting_shown("99 * * * *"), setting_shown("0.5"), setting_shown("hunter2")
    ("'99 * * * *'", "'0.5'", 'a text that is not shown')
    """
    text = str(value)
    plain = re.fullmatch(r"[-+*/,.:0-9 ]{1,40}([a-z]{1,2})?", text, re.ASCII | re.IGNORECASE)
    return repr(value) if plain and sum(map(str.isdigit, text)) <= MOST_DIGITS else "a text that is not shown"


def odd_folder(folder: Path | str) -> str:
    text = str(folder)
    if not text.strip():
        return "is empty; name a folder"
    if text.startswith("~"):
        return f"{text} begins with ~, which only a shell fills in; write the folder out"
    if not text.isprintable():
        return f"{text!r} holds characters that are not printable; leave them out"
    return ""


def odd_heap(memory: str) -> str:
    """
    >>> odd_heap("1g"), odd_heap("512mb"), "at least" in odd_heap("1024")
    ('', '', True)
    """
    match = re.fullmatch(r"([1-9][0-9]{0,9})(b|[kmgtp]b?)?", memory.lower(), re.ASCII)
    if match is None:
        return "is no amount of memory; give it as Spark writes it, such as 1g or 512m"
    mib = int(match[1]) * _MIB[(match[2] or "")[:1]]
    if not MIN_HEAP_MIB <= mib <= MAX_HEAP_MIB:
        return f"is {mib:.3g} MiB; Spark needs at least {MIN_HEAP_MIB}m, and 16t is the most"
    return ""


def odd_spark_master(master: str) -> str:
    """
    >>> odd_spark_master("spark://one:7077,two:7077"), odd_spark_master("local[*]"), bool(odd_spark_master("http://h"))
    ('', '', True)
    """
    if _MASTER.fullmatch(master) and all(
        0 < int(port) < 65_536 for port in re.findall(r":([0-9]{1,5})(?=[,/]|$)", master)
    ):
        return ""
    return "is no master of Spark (it is not shown); give local[*], spark://host:7077, yarn or k8s://https://host:443"


def odd_tracker(uri: str) -> str:
    """A path without a scheme is a folder."""
    scheme = uri.partition(":")[0].partition("+")[0].lower() if ":" in uri else ""
    if (scheme and scheme not in TRACKERS) and not uri.startswith("databricks"):
        return "is of no kind that MLflow knows (it is not shown); give it like https://host:port or sqlite:////path/mlflow.db"
    if "=" in uri and " " in uri and not scheme:
        return "is no address, but settings of a database (not shown, as one may be a password); give a URL"
    return "" if scheme else odd_folder(uri)
