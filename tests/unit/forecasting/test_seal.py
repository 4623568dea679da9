"""The keyed digest of trained models: of every name and byte, by a key for its owner alone."""

import hmac
import stat
from hashlib import sha256
from pathlib import Path

import pytest

from forecasting.errors import TrackingError
from forecasting.tracking.seal import Seal


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (made := tmp_path / "trained").mkdir()
    (made / "a").write_bytes(b"12")
    return made


def test_digest__is_an_hmac_over_lengths_names_and_content(folder: Path, tmp_path: Path) -> None:
    seal = Seal(tmp_path / "home" / "key")
    digest = seal.of(folder)
    key = bytes.fromhex((tmp_path / "home" / "key").read_text())
    assert len(key) == 32
    # 1 byte of name, 2 of content, each behind its length in 8 bytes.
    told = bytes(7) + b"\1a" + bytes(7) + b"\2" + b"12"
    assert digest == hmac.new(key, told, sha256).hexdigest()
    assert seal.fits(folder, digest)
    assert stat.S_IMODE((tmp_path / "home" / "key").stat().st_mode) == 0o600
    assert [path.name for path in (tmp_path / "home").iterdir()] == ["key"]


def test_digest__fits_neither_another_content_nor_name_nor_key(folder: Path, tmp_path: Path) -> None:
    seal = Seal(tmp_path / "key")
    digest = seal.of(folder)
    assert not Seal(tmp_path / "other").fits(folder, digest)
    (folder / "a").rename(folder / "b")
    assert not seal.fits(folder, digest)
    (folder / "b").rename(folder / "a")
    (folder / "a").write_bytes(b"13")
    assert not seal.fits(folder, digest)
    assert not seal.fits(folder, "")


def test_key__that_cannot_be_used_is_named(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "key").write_text("no key")
    with pytest.raises(TrackingError, match=r"key .*/key of trained models cannot be used: .*; restore it"):
        Seal(tmp_path / "key").of(folder)
