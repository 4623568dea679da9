"""Safe file names for arbitrary texts."""

import hashlib
from urllib.parse import quote

MAX_LENGTH = 120


def safe_name(text: str) -> str:
    """A file name that is unique to the text; the end of a long text is replaced by its digest."""
    name = quote(text, safe=" ")
    if len(name) > MAX_LENGTH:
        name = f"{name[: MAX_LENGTH - 13]}-{hashlib.sha256(text.encode()).hexdigest()[:12]}"
    return name
