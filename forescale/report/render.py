"""From a decision to one self-contained HTML file: no network, no server, safe with hostile names."""

import base64
import hashlib
import json
import os
from functools import cache
from importlib.resources import files
from pathlib import Path
from tempfile import NamedTemporaryFile

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from plotly.io.json import to_json_plotly
from plotly.offline import get_plotlyjs

from forescale.report.decision import Decision
from forescale.report.evidence_tables import (
    deployed_table,
    peaks_table,
    profiles_table,
    provenance,
    rivals_table,
)
from forescale.report.figure import ReportFigure
from forescale.report.instances_figure import instances_figure
from forescale.report.load_figure import load_figure
from forescale.report.outcome_table import outcome_sentences, outcome_table
from forescale.report.plan_tables import alternatives_table, excuses_table, operators_table, steps_table
from forescale.report.verdict import headline, sentences
from forescale.report.wording import moment, percent, quantile_name, visible


def render_report(decision: Decision) -> str:
    """The whole page. The same decision gives the same text."""
    loads = [load_figure(decision, source) for source in _sources(decision)]
    instances = [instances_figure(decision)] if decision.schedule.steps else []
    data = _script_json([_figure_json(figure) for figure in [*loads, *instances]])
    plotly_js, own_js = Markup(get_plotlyjs()), Markup(_asset("report.js"))  # noqa: S704 - both are ours, none is input
    outcome = decision.outcome
    page = _environment().get_template("report.html.j2")
    return page.render(
        decision=decision,
        headline=headline(decision),
        sentences=sentences(decision),
        outcome_sentences=outcome_sentences(decision, outcome) if outcome else (),
        outcome_table=outcome_table(decision, outcome) if outcome else None,
        loads=loads,
        instances=instances,
        steps=steps_table(decision),
        operators=operators_table(decision),
        alternatives=alternatives_table(decision),
        excuses=excuses_table(decision),
        deployed=deployed_table(decision),
        rivals=rivals_table(decision),
        peaks=peaks_table(decision),
        profiles=profiles_table(decision),
        provenance=provenance(decision),
        moment=moment,
        percent=percent,
        quantile=quantile_name(decision.quantile),
        css=Markup(_asset("report.css")),  # noqa: S704
        plotly_js=plotly_js,
        own_js=own_js,
        figures_json=Markup(data),  # noqa: S704 - escaped by _script_json
        script_hashes=" ".join(_csp_hash(script) for script in (plotly_js, own_js)),
    )


def write_report(decision: Decision, path: Path) -> Path:
    """Write the page; a reader sees the old file or the new one, never half of it. Raises OSError."""
    page = render_report(decision)
    path.parent.mkdir(parents=True, exist_ok=True)
    with NamedTemporaryFile("w", encoding="utf-8", newline="\n", dir=path.parent, suffix=".part", delete=False) as part:
        try:
            part.write(page)
            part.flush()
            os.fsync(part.fileno())
            Path(part.name).chmod(0o644)
            Path(part.name).replace(path)
        except BaseException:
            Path(part.name).unlink(missing_ok=True)
            raise
    return path


def _sources(decision: Decision) -> list[str]:
    return sorted({*decision.history.series, *decision.forecasts})


def _figure_json(figure: ReportFigure) -> dict[str, object]:
    plot = figure.plot.to_plotly_json()
    return {"data": plot["data"], "layout": plot["layout"], "wide": figure.wide, "narrow": figure.narrow}


def _script_json(value: object) -> str:
    """JSON that cannot leave its script element: `<`, `>` and `&` are written as escapes."""
    text = json.dumps(json.loads(to_json_plotly(value, engine="json")), separators=(",", ":"), sort_keys=True)
    for char in "<>&":
        text = text.replace(char, f"\\u{ord(char):04x}")
    return text


def _csp_hash(script: str) -> str:
    """Only the scripts with these hashes run: a name that slipped through the escaping could still do nothing."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"


@cache
def _asset(name: str) -> str:
    return (files("forescale.report") / "templates" / name).read_text(encoding="utf-8")


@cache
def _environment() -> Environment:
    return Environment(
        loader=PackageLoader("forescale.report", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=lambda value: visible(value) if type(value) is str else value,
        trim_blocks=True,
        lstrip_blocks=True,
    )
