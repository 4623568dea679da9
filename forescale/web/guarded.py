"""Security headers of every answer: what a page may load, who may frame it, and no shared caching."""

import html
import re

from fastapi.responses import HTMLResponse, Response

ABOUT = 4000
"""Number of leading characters in which our pages state their policy."""
OWN_POLICY = re.compile(r'<meta http-equiv="Content-Security-Policy" content="([^"]*)">')
OURS = re.compile(
    r"default-src 'none'; script-src( 'sha256-[A-Za-z0-9+/]{43}=')+; style-src 'unsafe-inline'; "
    r"img-src( 'self'| data:| blob:)+; base-uri 'none'; form-action 'none'"
)
NOTHING = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; sandbox"
"""Policy of pages that do not state one of ours: they are shown, and nothing in them runs."""
FRAMED = "frame-ancestors 'self'"
"""Airflow embeds the pages."""
HEADERS = {
    "Cache-Control": "no-store",
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
}


def page(text: str) -> Response:
    """An HTML page. Its scripts run if the page states their hashes in our pages' form; a page with a wider policy may
    do nothing at all.
    """
    said = OWN_POLICY.search(text[:ABOUT])
    own = html.unescape(said[1]) if said else ""
    policy = own if OURS.fullmatch(own) else NOTHING
    return HTMLResponse(text, headers={**HEADERS, "Content-Security-Policy": f"{policy}; {FRAMED}"})


def picture(text: str) -> Response:
    """An SVG, alone or within a page; nothing in it runs."""
    headers = {**HEADERS, "Content-Security-Policy": f"{NOTHING}; {FRAMED}"}
    return Response(text, media_type="image/svg+xml", headers=headers)
