"""Files are read within bounds: regular, no larger than allowed, unpacked no further than that."""

import gzip
import lzma
import os
from pathlib import Path

import pyarrow as pa
import pytest

from forecasting.bounded_file import bounded_bytes, bounded_text, check_regular, unpacked_bytes


def test_a_pipe_and_a_device__are_refused_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(pipe := tmp_path / "pipe")
    for path in (pipe, Path("/dev/zero")):
        for read in (bounded_bytes, bounded_text, unpacked_bytes, check_regular):
            with pytest.raises(OSError, match="give a regular file"):
                read(path)
    with pytest.raises(IsADirectoryError):
        bounded_bytes(tmp_path)


def test_a_file__may_hold_as_much_as_is_allowed_and_no_byte_more(tmp_path: Path) -> None:
    (file := tmp_path / "f").write_bytes(bytes(2 << 20))
    assert len(bounded_bytes(file, 2 << 20)) == 2 << 20
    with pytest.raises(OSError, match="more than 1 MiB"):
        bounded_bytes(file, 1 << 20)


def test_a_packed_file__is_unpacked_as_far_as_is_allowed(tmp_path: Path) -> None:
    content = b"timestamp,count\n" * 100_000
    packed = {".gz": gzip.compress(content), ".xz": lzma.compress(content)}
    packed[".zst"] = pa.compress(content, codec="zstd", asbytes=True)
    for ending, stored in packed.items():
        (file := tmp_path / f"trace.csv{ending}").write_bytes(stored)
        assert unpacked_bytes(file) == content
        with pytest.raises(OSError, match="more than 1 MiB"):
            unpacked_bytes(file, 1 << 20)


@pytest.mark.parametrize("ending", [".gz", ".bz2", ".xz", ".zst"])
def test_a_packed_file_that_is_broken__is_named_with_how_it_should_be_packed(tmp_path: Path, ending: str) -> None:
    for content in (b"not packed at all", gzip.compress(b"x" * 1000)[:20]):
        (file := tmp_path / f"trace.csv{ending}").write_bytes(content)
        with pytest.raises(OSError, match=f"not packed as {ending} says, or cut short") as refused:
            unpacked_bytes(file)
        assert refused.value.filename == str(file)


def test_an_archive__is_to_be_unpacked_by_hand(tmp_path: Path) -> None:
    (file := tmp_path / "trace.csv.zip").write_bytes(b"PK")
    with pytest.raises(OSError, match="unpack it"):
        unpacked_bytes(file)
