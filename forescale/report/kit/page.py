"""Rendering of pages: each is one self-contained HTML file, no network, no server, safe with hostile names."""

import base64
import hashlib
import json
import re
from functools import cache
from importlib.resources import files

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape
from plotly.io.json import to_json_plotly
from plotly.offline import get_plotlyjs

from forescale.report.kit.figure import ReportFigure
from forescale.report.kit.wording import visible

COMMAND = re.compile(r"`([^`]+)`")


def rendered(template: str, scripts: str, figures: list[ReportFigure], **shown: object) -> str:
    """The template with its figures. scripts: names of those that it runs, one after the other, after that of the
    theme. shown: its other variables.
    """
    own = "\n".join(_asset(script) for script in ("theme.js", *scripts.split()))
    plotly_js, own_js = Markup(get_plotlyjs()), Markup(own)  # noqa: S704 - both are ours, none is input
    return (
        _environment()
        .get_template(template)
        .render(
            **shown,
            figures=figures,
            css=Markup(_asset("report.css")),  # noqa: S704
            plotly_js=plotly_js,
            own_js=own_js,
            figures_json=Markup(_script_json([_figure_json(figure) for figure in figures])),  # noqa: S704 - escaped
            script_hashes=" ".join(_csp_hash(script) for script in (plotly_js, own_js)),
        )
    )


def rendered_picture(template: str, **shown: object) -> str:
    """A picture from a template and its variables."""
    return _environment().get_template(template).render(**shown)


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
    """Only scripts with these hashes run: a name that slipped through the escaping could still not run."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"


@cache
def _asset(name: str) -> str:
    return (files("forescale.report") / "templates" / name).read_text(encoding="utf-8")


def _with_commands(text: str) -> Markup:
    """Text in which `commands` look like such, safe with hostile names."""
    return Markup(COMMAND.sub(r"<code>\1</code>", str(escape(visible(text)))))  # noqa: S704 - escaped before


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("forescale.report", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=lambda value: visible(value) if type(value) is str else value,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["commands"] = _with_commands
    return environment
