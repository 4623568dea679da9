"""Messages about incidents: each service gets each message until it accepts it, and then never again."""

import hashlib
import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import product
from typing import Any
from urllib.parse import quote

from engines.bounded_answer import bound_answers
from engines.deadline import waiting, within
from engines.redaction import without_credentials
from forescale.jobs.standings import Expected, named_standings
from forescale.monitoring.errors import NotifyError
from forescale.monitoring.incidents import LASTING, Incident, IncidentKind, damage, incidents, unread
from forescale.settings import Settings
from forescale.situation.workspace import Workspace
from forescale.standing import Standing, Standings
from planner.ledger.ledger import Ledger
from planner.ledger.notice_records import NoticeKey

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Notified:
    """told: titles of accepted messages, by service; due: titles of messages not sent, because sending was off or the
    service refused. refused: numbers of such services. unread: by topology, what could not be read.
    """

    told: tuple[str, ...]
    due: tuple[str, ...]
    refused: tuple[int, ...]
    unread: dict[str, str]


def notify(workspace: Workspace, names: Iterable[str], expected: Expected, *, send: bool = True) -> Notified:
    """Send every service the messages it has not accepted yet. A refused message is tried again the next time.

    send: False only lists. Raises NotifyError and LedgerError.
    """
    services = notified_services(workspace.settings)
    ledger = workspace.ledger
    known, found = _incidents(named_standings(workspace, names, expected), ledger)
    if send:
        _end_others(workspace, known, found)
    told, due, refused = list[str](), list[str](), list[int]()
    for service, incident in product(services, found):
        now = workspace.clock.now()
        news = [key for key in _keys(service, incident) if ledger.notices.is_due(key, now)]
        if not news:
            continue
        # After one refusal a service is not tried again in this run.
        if not send or service.number in refused:
            due.append(incident.title)
        elif (taken := _send(workspace, service, incident, news)) is not None:
            (told if taken else due).append(incident.title)
            if not taken:
                refused.append(service.number)
                logger.warning("service %d of FORESCALE_NOTIFY_URLS refused a message", service.number)
    return Notified(tuple(told), tuple(due), tuple(refused), known.lacking)


def _incidents(read: Standings, ledger: Ledger) -> tuple[Standings, list[Incident]]:
    """The standings with further damage added, and the incidents of all topologies."""
    known, found = list[Standing](), list[Incident]()
    for standing in read.known:
        readable, defect = ledger.past_damage(), tuple[str, ...]()
        try:
            found += incidents(standing, readable)
        except Exception as error:  # a defect of one topology must not silence the others
            logger.exception("incidents of %s", standing.topology)
            defect = (f"incidents: {type(error).__name__}; see the log",)
        damaged = tuple(dict.fromkeys((*standing.damaged, *readable.damaged, *defect)))
        known.append(replace(standing, damaged=damaged))
        found += [damage(standing.topology, damaged)] if damaged else []
    found += [unread(name, why) for name, why in read.unread.items()]
    return replace(read, known=tuple(known)), found


SEND_S = 30.0
"""A server of e-mail may take its time."""


@dataclass(frozen=True)
class Service:
    """number: position in the setting, from 1; digest: identifies it in the ledger, and is slow to invert."""

    number: int
    digest: str
    _sender: Any = field(repr=False)

    def takes(self, title: str, text: str) -> bool:
        """Send a message. False if the service is down, refuses it, or has not taken it within SEND_S."""
        try:
            with waiting(f"service {self.number} of FORESCALE_NOTIFY_URLS", SEND_S):
                return bool(within(SEND_S, partial(self._sender.notify, title=title, body=text)))
        except TimeoutError:
            return False


def notified_services(settings: Settings) -> Sequence[Service]:
    """Empty without the setting. Raises NotifyError for an address unknown to Apprise, or without Apprise."""
    if settings.notify_urls is None:
        return ()
    try:
        import apprise
        from requests.adapters import HTTPAdapter
    except ModuleNotFoundError:
        raise NotifyError("FORESCALE_NOTIFY_URLS needs Apprise; install forescale with the extra `notify`") from None
    # An address usually holds a password, and Apprise may quote it.
    bound_answers(HTTPAdapter)
    logging.getLogger("apprise").setLevel(logging.CRITICAL + 1)
    services = []
    for number, url in enumerate(dict.fromkeys(settings.notify_urls.get_secret_value().split()), start=1):
        sender = apprise.Apprise()
        if not sender.add(url):
            raise NotifyError(
                f"URL {number} of FORESCALE_NOTIFY_URLS is unknown to Apprise (it is not shown); see its list of "
                "services, such as mailtos://, slack:// and jsons://"
            )
        services.append(Service(number, _digest(url), sender))
    return services


def _digest(url: str) -> str:
    return hashlib.scrypt(url.encode(), salt=b"forescale notices", n=2**14, r=8, p=1, dklen=8).hex()


def _keys(service: Service, incident: Incident) -> list[NoticeKey]:
    of_kind = partial(NoticeKey, service.digest, incident.topology, incident.kind.value)
    return [of_kind(subject) for subject in incident.subjects]


def _send(workspace: Workspace, service: Service, incident: Incident, news: Sequence[NoticeKey]) -> bool | None:
    """Whether the service accepted it; None if another process is sending it."""
    clock, notices = workspace.clock, workspace.ledger.notices
    begun = notices.begin(news, clock.now())
    if not begun:
        return None
    link = _link(workspace, incident)
    try:
        taken = service.takes(incident.title, incident.text + (f"\n{link}" if link else ""))
    except BaseException:
        notices.give_up(begun)
        raise
    if taken:
        notices.record_told(begun, clock.now())
    else:
        notices.give_up(begun)
    return taken


def _end_others(workspace: Workspace, known: Standings, incidents: Sequence[Incident]) -> None:
    """Mark incidents no longer seen as over, except those that may be hidden in unreadable rows."""
    now = workspace.clock.now()
    whole = {each.topology for each in known.known if not each.damaged}
    for topology in (*(each.topology for each in known.known), *known.unread):
        for kind in LASTING if topology in whole else (IncidentKind.UNREAD,):
            lasting = [each for each in incidents if each.topology == topology and each.kind is kind]
            subjects = [subject for each in lasting for subject in each.subjects]
            workspace.ledger.notices.end_others(topology, kind.value, subjects, now)


def _link(workspace: Workspace, incident: Incident) -> str:
    """Link to *Scaling*, else to a page in the folder of reports; empty without a base URL. Never with a password."""
    settings = workspace.settings
    if settings.scaling_url is not None:
        return without_credentials(settings.scaling_url).rstrip("/") + incident.path
    if settings.reports_url is None or incident.page is None:
        return ""
    folder = settings.reports_dir.resolve()
    whole = (folder / incident.page).resolve()
    if not whole.is_relative_to(folder):
        return ""
    return f"{without_credentials(settings.reports_url).rstrip('/')}/{quote(whole.relative_to(folder).as_posix())}"
