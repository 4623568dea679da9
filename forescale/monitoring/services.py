"""The services that take messages, by Apprise: e-mail, Slack, webhooks and a hundred others.

An address usually holds a password: it is never shown, and Apprise, which may quote it, must not log.
"""

import hashlib
import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from engines.bounded_requests import bound_answers
from engines.deadline import waiting, within
from forescale.monitoring.errors import NotifyError
from forescale.settings import Settings

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
