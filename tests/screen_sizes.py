"""Widths and heights of the screens that pages are tried on."""

DESKTOP, PHONE = (1280, 900), (360, 740)
