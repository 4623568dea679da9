"""Errors of a page's parts."""


class ReportError(ValueError):
    """A page whose parts do not belong together. The message names the part, the value and the remedy."""
