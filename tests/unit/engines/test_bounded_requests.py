"""Programs that read answers by requests, such as those that send messages, end in time and memory."""

from functools import partial

import pytest
import requests
from machine import waits
from odd_server import a_byte_at_a_time, head_a_byte_at_a_time, odd_server, of_status, without_end
from requests.adapters import HTTPAdapter

import engines.bounded_answer
from engines.bounded_answer import TooLargeError, bound_answers
from forescale.monitoring import notify
from forescale.monitoring.notify import Service, notified_services
from forescale.settings import Settings


def test_answers_without_end__are_read_up_to_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines.bounded_answer, "MAX_ANSWER_BYTES", 2**20)

    class Adapter(HTTPAdapter):
        pass

    for _ in range(2):
        bound_answers(Adapter)
    session = requests.Session()
    session.mount("http://", Adapter())
    with odd_server(without_end) as url, pytest.raises(TooLargeError, match="more than 1 MiB"):
        session.get(url, timeout=60)
    with odd_server(of_status(200, b"{}", "application/json")) as url:
        assert session.get(url, timeout=60).json() == {}


def _service(url: str) -> Service:
    settings = Settings(notify_urls=url.replace("http://", "json://"))  # type: ignore[arg-type]  # a SecretStr of it
    (service,) = notified_services(settings)
    return service


@pytest.mark.parametrize("answer", [a_byte_at_a_time, head_a_byte_at_a_time, without_end])
def test_a_service_that_does_not_end_its_answer__is_given_up_in_time(
    monkeypatch: pytest.MonkeyPatch, answer: object
) -> None:
    monkeypatch.setattr(notify, "SEND_S", 1.0)
    monkeypatch.setattr(engines.bounded_answer, "MAX_ANSWER_BYTES", 2**20)
    slowly = answer if answer is without_end else partial(answer, pause_s=0.1)  # type: ignore[call-overload]
    with odd_server(slowly) as url:
        service = _service(url)
        with waits(3):
            assert not service.takes("pair", "a review waits")


def test_a_service_that_answers__takes_the_message() -> None:
    with odd_server(of_status(200, b"{}", "application/json")) as url:
        assert _service(url).takes("pair", "a review waits")
