"""Objects below a directory of an object store: read, conditionally put, list and remove."""

import errno
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from functools import partial
from typing import Any

from engines.regular_file import too_large
from forecasting.arrivals.storage.directory import S3Directory
from forecasting.arrivals.storage.s3_client import CHUNK_BYTES, LATE, answer_of, foreign_answer, refusal_code
from forecasting.errors import HistoryStoreError

PROBE = "_conditional-puts"
_NO_VERSION = '"00000000000000000000000000000000"'


@dataclass(frozen=True)
class S3Objects:
    """Names are keys below the directory. Every method raises HistoryStoreError if the store does not answer or
    refuses.
    """

    directory: S3Directory

    def place(self, name: str) -> str:
        return f"{self.directory}/{name}"

    def get(self, name: str, max_bytes: int) -> tuple[bytes, str]:
        """Content and version. Raises FileNotFoundError, and OSError for more than max_bytes."""

        try:
            response = answer_of(
                self.directory, lambda client: client.get_object(**self._named(name)), expected=["NoSuchKey"]
            )
            version = self._version(response, name)
            body = response["Body"]
            parts, size = [], 0
            while size <= max_bytes and (part := answer_of(self.directory, lambda _: body.read(CHUNK_BYTES))):
                parts.append(part)  # the length is checked at the end
                size += len(part)
            body.close()  # not after an error: that would wait for the thread that still reads
            content = b"".join(parts)
        except Exception as error:
            if refusal_code(error) != "NoSuchKey":
                raise
            raise _not_found(self.place(name)) from None
        if len(content) > max_bytes:
            raise too_large(self.place(name), max_bytes)
        return content, version

    def put(self, name: str, content: bytes, **condition: str) -> bool:
        """condition: IfMatch (a version) or IfNoneMatch ("*"). Returns False if it did not hold."""
        put = {**self._named(name), "Body": content, **condition}
        try:
            response = answer_of(
                self.directory,
                lambda client: client.put_object(**put),
                sent_bytes=len(content),
                expected=[code for of, codes in LATE.items() if of in condition for code in codes],
            )
            self._version(response, name)
        except Exception as error:
            if not refusal_code(error):
                raise
            return False
        return True

    def check_stored(self, name: str, content: bytes) -> None:
        """Raises HistoryStoreError unless the store lists the object with the size and version of this content, read
        once more: whatever answered in between was not the store.
        """
        try:
            again, version = self.get(name, max(len(content), 1))
        except OSError:
            again, version = b"", ""
        listed = next(self._pages({"Bucket": self.directory.bucket, "Prefix": self._key(name), "MaxKeys": 1}))
        held = [each for each in listed.get("Contents", ()) if each["Key"] == self._key(name)]
        if again != content or [(each["Size"], each["ETag"]) for each in held] != [(len(content), version)]:
            sizes = f"{held[0]['Size']} bytes" if held else "no such object"
            what = f"lists {sizes} at {self.place(name)}, but {len(content)} bytes came, beginning {content[:20]!r}"
            raise foreign_answer(self.directory, what)

    def modified_at(self, name: str) -> datetime:
        """Raises FileNotFoundError."""
        newest = next(self._pages({"Bucket": self.directory.bucket, "Prefix": self._key(name), "MaxKeys": 1}))
        for held in newest.get("Contents", ()):
            if held["Key"] == self._key(name):
                modified_at: datetime = held["LastModified"]
                return modified_at
        raise _not_found(self.place(name))

    def names(self, beginning: str, *, older_than_s: float = 0.0, at_once: int = 1000) -> Iterator[str]:
        """Names with this beginning, in order; with older_than_s, only those put that long ago by the store's clock.
        at_once: names per request.
        """
        params = {"Bucket": self.directory.bucket, "Prefix": self._key(beginning), "MaxKeys": at_once}
        for page in self._pages(params):
            for held in page.get("Contents", ()):
                if not older_than_s or held["LastModified"] <= _server_time(page) - timedelta(seconds=older_than_s):
                    yield str(held["Key"]).removeprefix(self._key(""))

    def folders(self, beginning: str) -> list[str]:
        """Names with this beginning up to the first slash; as fast for full folders as for empty ones."""
        params = {"Bucket": self.directory.bucket, "Prefix": self._key(beginning), "Delimiter": "/"}
        prefixes = (held["Prefix"] for page in self._pages(params) for held in page.get("CommonPrefixes", ()))
        return [str(prefix).removeprefix(self._key("")).removesuffix("/") for prefix in prefixes]

    def remove(self, name: str) -> None:
        answer_of(self.directory, lambda client: client.delete_object(**self._named(name)))

    def check_conditional_puts(self) -> None:
        """Raises HistoryStoreError if the store ignores conditions: of two writers, one would lose its commits."""
        self.put(PROBE, b"", IfNoneMatch="*")
        # The probe exists now, whoever put it.
        for header, value in (("IfNoneMatch", "*"), ("IfMatch", _NO_VERSION)):
            if self.put(PROBE, b"", **{header: value}):
                raise HistoryStoreError(
                    f"history in {self.directory}: the store ignores conditions of puts ({header}), so that two "
                    "writers would lose each other's commits; use a store that honours them, or a folder"
                )

    def _version(self, response: Any, name: str) -> str:
        """Raises HistoryStoreError for an answer that no object store gives, such as the page of a proxy."""
        headers = response["ResponseMetadata"]["HTTPHeaders"]
        kind = str(headers.get("content-type", ""))
        if "ETag" not in response or kind.startswith("text/html"):
            what = f"answers {self.place(name)} with {kind or 'no type'} and no object"
            raise foreign_answer(self.directory, what)
        return str(response["ETag"])

    def _pages(self, params: Mapping[str, Any]) -> Iterator[Any]:
        more: dict[str, str] = {}
        while True:
            page = answer_of(self.directory, partial(_page, {**params, **more}))
            further = {"ContinuationToken": page.get("NextContinuationToken", "")} if page.get("IsTruncated") else {}
            stuck = further and (further == more or not further["ContinuationToken"])
            if stuck or not _is_listing(page, params["Prefix"]):
                raise foreign_answer(self.directory, "answers a listing with something else")
            yield page
            if not further:
                return
            more = further

    def _named(self, name: str) -> dict[str, str]:
        return {"Bucket": self.directory.bucket, "Key": self._key(name)}

    def _key(self, name: str) -> str:
        return f"{self.directory.prefix}/{name}" if self.directory.prefix else name


def _not_found(place: str) -> FileNotFoundError:
    return FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), place)


def _server_time(page: Any) -> datetime:
    """The store's clock, which also stamps objects; this machine's if the answer has no date."""
    date_header = page["ResponseMetadata"]["HTTPHeaders"].get("date")
    return datetime.now(UTC) if date_header is None else parsedate_to_datetime(date_header).astimezone(UTC)


def _is_listing(page: Mapping[str, Any], beginning: str) -> bool:
    """Whether an answer lists objects, each with what a store tells of it, and none but those asked for."""
    objects, folders = page.get("Contents", ()), page.get("CommonPrefixes", ())
    whole = all(held.keys() >= {"Key", "Size", "ETag", "LastModified"} for held in objects)
    names = [*(held.get("Key", "") for held in objects), *(held.get("Prefix", "") for held in folders)]
    return ("Name" in page or "KeyCount" in page) and whole and all(name.startswith(beginning) for name in names)


def _page(params: Mapping[str, Any], client: Any) -> Any:
    return client.list_objects_v2(**params)
