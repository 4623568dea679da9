"""What can be wrong with what a page is made of."""


class ReportError(ValueError):
    """A page whose parts do not belong together. The message names the part, the value and the remedy."""
