"""Reads files from people or other tools within bounds: only regular files of bounded size, compressed or not.

A small compressed file may expand beyond memory. Refusals are OSErrors with a reason, so callers report them like files
that cannot be opened.
"""

import bz2
import errno
import gzip
import lzma
import zlib
from pathlib import Path
from typing import IO

from engines.regular_file import opened_regular, too_large

MAX_BYTES = 64 << 20
"""Limit for a file of settings, profiles or samples, a forecast or a manifest."""
MAX_TRACE_BYTES = 1 << 30
"""Limit for a trace or a table, uncompressed."""

PACKED = (".gz", ".bz2", ".xz", ".zst")
"""Endings of compressed files that are read."""
_ARCHIVES = (".zip", ".tar", ".tgz", ".tbz", ".txz", ".7z", ".rar")
_BROKEN = (EOFError, lzma.LZMAError, zlib.error)


def check_regular(path: Path, max_bytes: int = MAX_TRACE_BYTES) -> None:
    """Raises OSError unless the path is a regular file of at most max_bytes."""
    opened_regular(path, max_bytes).close()


def bounded_bytes(path: Path, max_bytes: int = MAX_BYTES) -> bytes:
    """The content of a file. Raises OSError unless it is a regular file of at most max_bytes."""
    with opened_regular(path, max_bytes) as file:
        return _all_of(file, path, max_bytes)


def bounded_text(path: Path, max_bytes: int = MAX_BYTES, encoding: str = "utf-8-sig") -> str:
    """Like bounded_bytes, as text. Also raises UnicodeDecodeError, and OSError for a null byte, which no text holds."""
    text = bounded_bytes(path, max_bytes).decode(encoding)
    if "\0" in text:
        raise OSError(errno.EINVAL, "it holds a null byte, and so is no text; write it again", str(path))
    return text


def unpacked_bytes(path: Path, max_bytes: int = MAX_TRACE_BYTES) -> bytes:
    """Like bounded_bytes, for a file that may be compressed, by its suffix (.gz, .bz2, .xz, .zst); at most max_bytes
    are decompressed. Also raises OSError for a file whose content does not match the suffix, and for an archive.
    """
    kind = path.suffix.lower()
    if kind in _ARCHIVES:
        raise OSError(errno.EINVAL, "it is an archive of files; unpack it, and give the file that it holds", str(path))
    if kind not in PACKED:
        return bounded_bytes(path, max_bytes)
    import pyarrow as pa  # not for files of settings, which every command reads

    with opened_regular(path, max_bytes) as file:
        try:
            with _unpacking(file, kind) as unpacked:
                return _all_of(unpacked, path, max_bytes)
        except (*_BROKEN, pa.ArrowException, OSError) as error:
            if isinstance(error, OSError) and error.filename is not None:
                raise
            cause = " ".join(str(error).split()) or type(error).__name__
            raise OSError(
                errno.EINVAL, f"it is not packed as {kind} says, or cut short ({cause}); pack it again", str(path)
            ) from None


def _unpacking(file: IO[bytes], kind: str) -> IO[bytes]:
    match kind:
        case ".gz":
            return gzip.GzipFile(fileobj=file)  # type: ignore[return-value]
        case ".bz2":
            return bz2.BZ2File(file)
        case ".xz":
            return lzma.LZMAFile(file)
    import pyarrow as pa

    unpacked: IO[bytes] = pa.CompressedInputStream(file, "zstd")
    return unpacked


def _all_of(file: IO[bytes], path: Path, max_bytes: int) -> bytes:
    # The size of compressed or growing content is not known beforehand.
    content = file.read(max_bytes + 1)
    if len(content) > max_bytes:
        raise too_large(path, max_bytes)
    return content
