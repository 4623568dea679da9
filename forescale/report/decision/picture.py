"""The decision as a picture: arrivals, forecast and capacity, drawn as in the report."""

from forescale.report.decision.decision import DecisionReport
from forescale.report.decision.load_figure import load_figure
from forescale.report.kit.still import still_picture

MAX_SOURCES = 4


def decision_picture(decision: DecisionReport) -> str:
    """An SVG. Of more than four sources, those with the highest forecast rates are drawn."""
    sources = sorted({*decision.forecasts, *(decision.history.series if decision.history else ())})
    highest = {name: float(forecast.rate_per_s.max()) for name, forecast in decision.forecasts.items()}
    most = sorted(sources, key=lambda name: (-highest.get(name, 0.0), name))[:MAX_SOURCES]
    return still_picture([load_figure(decision, name) for name in sources if name in most])
