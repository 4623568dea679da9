"""Names of files for what may be called anything."""

import hashlib
from urllib.parse import quote

LONGEST = 120


def safe_name(text: str) -> str:
    """The text as a file name, another one for every other text; the end of a long one gives way to its digest."""
    name = quote(text, safe=" ")
    if len(name) > LONGEST:
        name = f"{name[: LONGEST - 13]}-{hashlib.sha256(text.encode()).hexdigest()[:12]}"
    return name
