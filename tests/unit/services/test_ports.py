import socket

import pytest

from forescale.local.errors import ServiceError
from forescale.local.ports import UNGIVEN, free_port


@pytest.fixture
def taken():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        yield listener.getsockname()[1]


def test_free_port__passes_over_one_that_is_taken(taken):
    assert free_port(taken) > taken


def test_any_free_port__is_none_that_a_connection_may_take_before_a_server_has_it():
    assert all(free_port() in UNGIVEN for _ in range(100))


def test_free_port__says_which_port_is_taken(taken):
    with pytest.raises(ServiceError, match=f"port {taken} on 127.0.0.1 is taken"):
        free_port(taken, tries=1)
