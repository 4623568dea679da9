"""A keyed digest of trained models: whoever may write the tracking store cannot change what this home reads from it."""

import hmac
import secrets
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from forecasting.bounded_file import bounded_bytes
from forecasting.errors import TrackingError

_KEY_BYTES = 32


@dataclass(frozen=True)
class Seal:
    """file: holds the key, for its owner alone; made when it is first needed."""

    file: Path

    def of(self, folder: Path) -> str:
        """HMAC-SHA256 of names and content of all files below a folder, in hexadecimal. Raises TrackingError if the key
        can neither be read nor made.
        """
        whole = hmac.new(self._key(), digestmod=sha256)
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            for part in (path.relative_to(folder).as_posix().encode(), path.read_bytes()):
                whole.update(len(part).to_bytes(8, "big") + part)
        return whole.hexdigest()

    def fits(self, folder: Path, digest: str) -> bool:
        return hmac.compare_digest(self.of(folder), digest)

    def _key(self) -> bytes:
        try:
            if not self.file.exists():
                self._make()
            return bytes.fromhex(bounded_bytes(self.file, 1024).decode())
        except (OSError, ValueError) as error:
            raise TrackingError(
                f"key {self.file} of trained models cannot be used: {error}; restore it, or move it away: models "
                "trained before are then refused"
            ) from None

    def _make(self) -> None:
        self.file.parent.mkdir(parents=True, exist_ok=True)
        aside = self.file.with_name(f"{self.file.name}.{secrets.token_hex(4)}")
        aside.touch(mode=0o600, exist_ok=False)
        try:
            aside.write_text(secrets.token_hex(_KEY_BYTES))
            with suppress(FileExistsError):  # another process was first
                self.file.hardlink_to(aside)
        finally:
            aside.unlink()
