"""Addresses that people mistype, with passwords in them, at every place that takes one."""

from collections.abc import Callable

import pytest

from engines.flink.rest import FlinkRest
from engines.http import JsonServer
from planner.errors import ClusterError

TAKERS: list[Callable[[str], FlinkRest | JsonServer]] = [
    lambda url: FlinkRest(url, ClusterError),
    lambda url: JsonServer("Storm UI", url, ClusterError, part="topology words"),
]


@pytest.mark.parametrize("taker", TAKERS)
@pytest.mark.parametrize(
    "url",
    [
        "u:sekret@127.0.0.1",
        "http://u:sek/ret@127.0.0.1:1",
        "http://u:80/sekret@127.0.0.1:1",
        "http://u:80?sekret@127.0.0.1:1",
        "http://u:80#sekret@127.0.0.1:1",
        "http://[::1",
        "http://127.0.0.1:99999",
        "http://127.0.0.1:0",
        "http://",
        "ftp://host",
    ],
)
def test_address__that_is_no_url_is_refused_and_not_repeated(taker: Callable[[str], object], url: str) -> None:
    with pytest.raises(ClusterError, match=r"the address of .* is not a URL; give it like http://host:") as refused:
        taker(url)
    for part in ("sek", "127.0.0.1", "::1"):
        assert part not in str(refused.value)


@pytest.mark.parametrize("taker", TAKERS)
def test_place__shows_host_port_and_path_without_the_login(taker: Callable[[str], FlinkRest | JsonServer]) -> None:
    place = taker("http://u:sekret@[::1]:8081/proxy/?token=sekret").place
    assert "at http://[::1]:8081/proxy" in place
    assert "sekret" not in place
