"""Every command by what people do with it, its line in the help, and where it is: known without importing any."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Command:
    """line: of the help. module: in forescale.cli; its words, joined, if empty. function: its last word if empty."""

    line: str
    module: str = ""
    function: str = ""


@dataclass(frozen=True)
class Group:
    """Commands about one thing. default: the one that runs where none of them is named."""

    line: str
    commands: Mapping[str, Command] = field(default_factory=dict)
    default: str = ""


PANELS: Mapping[str, Mapping[str, Command | Group]] = {
    "Begin": {
        "init": Command("Write a topology file from a running job."),
        "doctor": Command("Check everything a decision needs; exits with 1 on a failure."),
        "config": Group(
            "A home, its settings, topology files and DAGs.",
            {
                "check": Command("Read every topology file and say what is wrong.", "config"),
                "init": Command("Make a home: settings, topologies/, dags/ and examples/.", "config"),
                "dags": Command("Link the DAGs into a folder that Airflow reads.", "dags"),
                "schema": Command("Print the JSON schema of a kind of file.", "config"),
            },
        ),
        "demo": Command("The main job on a real trace; about two minutes."),
        "up": Command("Airflow's and MLflow's web pages on loopback, until Ctrl-C.", "demo"),
    },
    "Every day": {
        "history": Group(
            "The arrival history of a topology.",
            {
                "build": Command("Count arrivals by window."),
                "show": Command("Arrivals by source and day, or the history's snapshots."),
                "check": Command("Check a history against `arrivals.quality`; exits with 1 on a breach."),
                "record": Command("Store a reading of a source that keeps no history."),
            },
        ),
        "forecast": Group(
            "Forecast the peaks to come, and judge forecasts.",
            {
                "run": Command("Select and fit forecasters, and forecast; tracked in MLflow."),
                "peak": Command("Peak of the load until any moment, with its probability."),
                "pages": Command("Write pages of all sources' forecasts and their past scores."),
                "backtest": Command("Score forecasts of a trace against what followed.", "backtest"),
                "reproduce": Command("Repeat an MLflow run's forecasts; exits with 1 if any differs."),
            },
            default="run",
        ),
        "plan": Group(
            "Propose a schedule, review it, and change it.",
            {
                "make": Command("Propose a schedule; nothing is deployed before approval."),
                "list": Command("The newest steps, of one topology or all, and where each is.", function="list_steps"),
                "show": Command("Write a schedule's page again, with the outcomes since."),
                "approve": Command("Approve the proposed steps of a schedule.", "plan_review"),
                "veto": Command("Call off the steps of a schedule that have not begun.", "plan_review"),
                "edit": Command("Give a step another plan or time, and show the effect."),
            },
            default="make",
        ),
        "deploy": Group(
            "Deploy what is due, or a plan of your own.",
            {
                "due": Command("Deploy every approved step whose time has come.", "deploy"),
                "now": Command("Deploy a step that is due, or a plan of your own.", "deploy"),
                "outcomes": Command("Measured beside predicted values of past deployments."),
            },
        ),
        "guard": Group(
            "Watch the job between forecasts, and act or advise.",
            {
                "look": Command("Look once, and act or advise; or what it did.", "guard"),
                "lift": Command("Allow an action under a diagnosis again.", "guard"),
            },
            default="look",
        ),
    },
    "Ask and judge": {
        "model": Group(
            "Measure a job, and ask what plans would do.",
            {
                "calibrate": Command("Measure every operator, with 95 % intervals.", "calibrate"),
                "evaluate": Command("What plans would do under a load, before any is deployed.", "evaluate"),
                "pack": Command("Which container holds which instance: a plan file.", "pack"),
            },
        ),
        "replay": Command("Replay policies over past arrivals; cost and violations."),
    },
    "Run": {
        "serve": Command("Offer the approved plan of now to KEDA, HTTP and Prometheus."),
        "metrics": Command("Metrics of forecasts, plans and deployments for Prometheus."),
        "notify": Command("Send new incidents to the services of FORESCALE_NOTIFY_URLS."),
        "prune": Command("Remove old runs, models and pages not in use; asks first."),
    },
}

COMMANDS = {name: entry for panel in PANELS.values() for name, entry in panel.items()}

RENAMED: Mapping[tuple[str, ...], tuple[str, ...]] = {
    ("backtest",): ("forecast", "backtest"),
    ("calibrate",): ("model", "calibrate"),
    ("dags",): ("config", "dags"),
    ("demo-flink",): ("demo", "--flink"),
    ("deploy", "approve"): ("plan", "approve"),
    ("deploy", "list"): ("plan", "list"),
    ("deploy", "plan"): ("deploy", "now"),
    ("deploy", "step"): ("deploy", "now"),
    ("deploy", "veto"): ("plan", "veto"),
    ("edit",): ("plan", "edit"),
    ("evaluate",): ("model", "evaluate"),
    ("forecasts",): ("forecast", "pages"),
    ("guard", "show"): ("guard", "--past"),
    ("history", "snapshots"): ("history", "show", "--snapshots"),
    ("pack",): ("model", "pack"),
    ("peak",): ("forecast", "peak"),
    ("report",): ("plan", "show"),
    ("reproduce",): ("forecast", "reproduce"),
    ("shadow", "observe"): ("replay", "--live", "--observe"),
    ("shadow", "show"): ("replay", "--live"),
    ("shadow",): ("replay", "--live"),
    ("services",): ("model", "evaluate"),
}
"""Words of release 0.2 and what they are called now: they are taken for one more release."""


def with_present_names(arguments: Sequence[str]) -> tuple[list[str], str]:
    """The arguments with the command's present words, and a sentence for whoever still types the old ones."""
    for count in (2, 1):
        if (present := RENAMED.get(tuple(arguments[:count]))) is not None:
            old = " ".join(arguments[:count])
            return [*present, *arguments[count:]], f"`forescale {old}` is `forescale {' '.join(present)}` now"
    return list(arguments), ""


def asked(arguments: Sequence[str]) -> tuple[str, ...]:
    """The words of the command that arguments ask for; empty where it is none, as in `forescale --help`."""
    name, *others = [*arguments, ""][next((at for at, word in enumerate(arguments) if word[:1] != "-"), -1) :]
    entry = COMMANDS.get(name)
    if not isinstance(entry, Group):
        return () if entry is None else (name,)
    word = others[0] if others and others[0] in entry.commands else entry.default
    return (name, word) if word else (name,)


def every_command() -> dict[tuple[str, ...], Command]:
    """The commands by their words, in the order of the help."""
    found: dict[tuple[str, ...], Command] = {}
    for name, entry in COMMANDS.items():
        if isinstance(entry, Command):
            found[(name,)] = entry
        else:
            found.update({(name, word): command for word, command in entry.commands.items()})
    return found
