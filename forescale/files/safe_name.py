"""Safe file names for arbitrary texts."""

import hashlib
from urllib.parse import quote

LONGEST = 120


def safe_name(text: str) -> str:
    """A file name that is unique to the text; the end of a long text is replaced by its digest."""
    name = quote(text, safe=" ")
    if len(name) > LONGEST:
        name = f"{name[: LONGEST - 13]}-{hashlib.sha256(text.encode()).hexdigest()[:12]}"
    return name
