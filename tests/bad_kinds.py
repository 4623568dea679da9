"""Kinds of bad files, names of files to be written, numbers and moments."""

import gzip
import io
import os
import random
import tarfile
from collections.abc import Callable
from pathlib import Path


def _file(write: Callable[[Path], object]) -> Callable[[Path], str]:
    def made(folder: Path) -> str:
        path = folder / "bad"
        write(path)
        return str(path)

    return made


def _named(name: str, content: bytes | str) -> Callable[[Path], str]:
    def made(folder: Path) -> str:
        path = folder / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return str(path)

    return made


def _sparse(folder: Path) -> str:
    path = folder / "bad.yaml"
    with path.open("wb") as file:
        file.truncate(8 << 30)
    return str(path)


def _merge_bomb() -> str:
    lines = ["a0: &a0 {k0: 1, k1: 1}"]
    lines += [f"a{n}: &a{n} {{<<: [{', '.join([f'*a{n - 1}'] * 10)}]}}" for n in range(1, 12)]
    return "\n".join(lines) + "\n"


def _alias_bomb() -> str:
    lines = ["a0: &a0 [x, x]", *(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 10))]
    return "\n".join(lines) + "\n"


def _tar() -> bytes:
    whole = io.BytesIO()
    with tarfile.open(fileobj=whole, mode="w") as tar:
        tar.add(__file__, "trace.csv")
    return whole.getvalue()[:700]


NOISE = bytes(random.Random(7).randrange(256) for _ in range(4096))
MANY = "operators: {" + ", ".join(f"o{n}: {{service_s: 0.001}}" for n in range(10_000)) + "}\n"
FILE_KINDS: dict[str, Callable[[Path], str]] = {
    "a pipe": _file(os.mkfifo),
    "a device": lambda folder: "/dev/zero",
    "a folder": lambda folder: str(folder),
    "no file": lambda folder: str(folder / "none.yaml"),
    "a name of 5,000 characters": lambda folder: str(folder / ("x" * 5000)),
    "a file below a file": lambda folder: f"{__file__}/x.yaml",
    "an empty file": _named("bad.yaml", ""),
    "noise": _named("bad.yaml", NOISE),
    "noise as JSON": _named("bad.json", NOISE),
    "noise as CSV": _named("bad.csv", NOISE),
    "UTF-16": _named("bad.yaml", "topology: pair".encode("utf-16")),
    "8 GiB": _sparse,
    "20 MB of YAML": _named("bad.yaml", "topology: pair\nx:\n" + "- {a: 1}\n" * 2_200_000),
    "a YAML bomb by merge keys": _named("bad.yaml", _merge_bomb()),
    "a YAML bomb by aliases": _named("bad.yaml", _alias_bomb()),
    "YAML nested deeply": _named("bad.yaml", "a: " + "[" * 100_000),
    "JSON nested deeply": _named("bad.json", '{"a": ' + "[" * 100_000),
    "10,000 operators": _named("bad.yaml", f"topology: pair\n{MANY}streams: []\n"),
    "parallelism of 10⁷": _named("bad.yaml", "{topology: pair, parallelism: {read: 1, count: 10000000}}"),
    "parallelism of 10⁷, packed": _named(
        "bad.yaml",
        "{topology: pair, parallelism: {read: 1, count: 10000000}, containers: [{id: 1, instances: [[read, 0]]}]}",
    ),
    "a list": _named("bad.yaml", "[1, 2]"),
    "JSON that is a number": _named("bad.json", "7"),
    "broken .gz": _named("bad.csv.gz", gzip.compress(b"timestamp,count\n" * 100)[:40]),
    "broken .xz": _named("bad.csv.xz", b"\xfd7zXZ\x00" + NOISE[:100]),
    "broken .zst": _named("bad.csv.zst", b"\x28\xb5\x2f\xfd" + NOISE[:100]),
    "broken .bz2": _named("bad.csv.bz2", b"BZh9" + NOISE[:100]),
    "broken .tar": _named("bad.csv.tar", _tar()),
    "broken .zip": _named("bad.csv.zip", b"PK\x03\x04" + NOISE[:100]),
    "4 GiB in .gz": _named("bad.csv.gz", gzip.compress(b"timestamp,count\n" + bytes(4 << 20)) * 1024),
    "lone surrogates": lambda folder: f"{folder}/\udcff.yaml",
}
NUMBERS = ("-1", "0", "1e308", "-1e308", "nan", "inf", "-inf", "1" + "0" * 30, "1" * 5000, "²", "")
MOMENT_TEXTS = (
    "0001-01-01",
    "0001-01-01T00:00:00+14:00",
    "9999-12-31T23:59:59-14:00",
    "10000-01-01",
    "0000-01-01",
    "yesterday",
    "",
    "2026-02-30",
    "x" * 100_000,
    "\udcff",
)
OUTPUT_KINDS: dict[str, Callable[[Path, str], str]] = {
    "/dev/full": lambda folder, ending: _linked(folder / f"full{ending}", "/dev/full"),
    "a folder that is not there": lambda folder, ending: str(folder / "none" / f"x{ending}"),
    "a folder": lambda folder, ending: _made_folder(folder / f"f{ending}"),
    "a pipe": lambda folder, ending: _file(os.mkfifo)(folder) if not ending else _pipe(folder / f"p{ending}"),
    "a file below a file": lambda folder, ending: f"{__file__}/x{ending}",
    "a folder that cannot be written": lambda folder, ending: f"/proc/x{ending}",
    "lone surrogates": lambda folder, ending: f"{folder}/\udcff{ending}",
    "a name of 5,000 characters": lambda folder, ending: f"{folder}/{'x' * 5000}{ending}",
    "a null byte": lambda folder, ending: f"{folder}/a\0b{ending}",
}


def _linked(path: Path, target: str) -> str:
    # By a link: whatever takes its place leaves the device itself alone.
    path.symlink_to(target)
    return str(path)


def _made_folder(path: Path) -> str:
    path.mkdir()
    return str(path)


def _pipe(path: Path) -> str:
    os.mkfifo(path)
    return str(path)
