"""One source of a history as one terminal line: peaks as blocks, with gaps that cannot be mistaken for zeros."""

import numpy as np
from rich.text import Text

from forecasting.arrivals.history import MISSING, OBSERVED, PARTIAL, THROTTLED
from forescale.history.binned_windows import BinnedWindows
from forescale.report.kit.wording import rate

BLOCKS = "▁▂▃▄▅▆▇█"
ZERO, GAP = "_", "·"
LEGEND = f"{ZERO} zero, {GAP} missing, red: missing in part, yellow: partial or throttled only"


def block_line(bins: BinnedWindows) -> Text:
    """A character per bin, then the largest rate. The tallest block is the source's own peak."""
    known = bins.peak_per_s(OBSERVED)
    doubtful = bins.peak_per_s(PARTIAL, THROTTLED)
    shown = np.where(np.isnan(known), doubtful, np.fmax(known, doubtful))
    top = float(np.nanmax(shown)) if not np.isnan(shown).all() else 0.0
    text = Text()
    for at in np.flatnonzero(bins.with_windows()).tolist():
        value = float(shown[at])
        if np.isnan(value):
            text.append(GAP, style="dim")
            continue
        # Any arrival shows: the lowest block begins right above zero.
        block = ZERO if value == 0 else BLOCKS[min(len(BLOCKS) - 1, int(value / top * len(BLOCKS)))]
        if bins.count_of(MISSING)[at]:
            text.append(block, style="red")
        else:
            text.append(block, style="yellow" if np.isnan(known[at]) else "")
    text.append(f" peak {rate(top)}" if not np.isnan(shown).all() else " nothing known")
    return text
