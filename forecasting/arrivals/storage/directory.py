"""Where histories are stored: in a local folder, or below a prefix of an S3-compatible object store."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

_BUCKET = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")
_PREFIX = re.compile(r"[A-Za-z0-9_.=-]+(/[A-Za-z0-9_.=-]+)*")


@dataclass(frozen=True)
class S3Directory:
    """prefix: of all keys, without slashes at its ends; empty for the whole bucket."""

    bucket: str
    prefix: str = ""

    def __str__(self) -> str:
        return f"s3://{self.bucket}/{self.prefix}" if self.prefix else f"s3://{self.bucket}"


Directory: TypeAlias = Path | S3Directory


def s3_directory(uri: str) -> S3Directory:
    """The directory of `s3://BUCKET[/PREFIX]`. Raises ValueError, without quoting a URI that may hold a login.

    >>> s3_directory("s3://forescale/history/")
    S3Directory(bucket='forescale', prefix='history')
    """
    form = "give s3://BUCKET/PREFIX"
    if "@" in uri:
        raise ValueError(f"has an @, and so perhaps a login; {form}, and the keys as AWS_ACCESS_KEY_ID and so on")
    scheme, separator, rest = uri.partition("://")
    if not separator or scheme != "s3":
        raise ValueError(f"has no scheme s3; {form}")
    if "?" in rest or "#" in rest:
        raise ValueError(f"has a query or a fragment; {form} alone, and the endpoint as AWS_ENDPOINT_URL_S3")
    bucket, _, prefix = rest.removesuffix("/").partition("/")
    if not _BUCKET.fullmatch(bucket):
        raise ValueError(f"names the bucket {bucket!r}; {form} with 3 to 63 lower-case letters, digits, '-' and '.'")
    if prefix and (not _PREFIX.fullmatch(prefix) or {".", ".."} & set(prefix.split("/"))):
        raise ValueError(
            f"has the prefix {prefix!r}; use letters, digits, '_', '.', '=' and '-' between single slashes"
        )
    return S3Directory(bucket, prefix)
