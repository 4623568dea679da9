"""`forescale model services` and the section `services`, by hand."""

import json
from pathlib import Path

import pytest
import yaml

from forescale.cli import main
from forescale.files.file_error import FileError
from forescale.files.topology import read_topology_file

EXAMPLES = Path(__file__).parents[3] / "examples" / "services"
SHOP = EXAMPLES / "shop.yaml"


@pytest.fixture(autouse=True)
def _own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORESCALE_HOME", str(tmp_path / "home"))


def _answer(capsys: pytest.CaptureFixture[str], code: int, *arguments: str | Path) -> tuple[str, str]:
    with pytest.raises(SystemExit) as ended:
        main(["model", "services", *map(str, arguments)])
    captured = capsys.readouterr()
    assert ended.value.code == code, captured.err
    return captured.out, captured.err


def test_services__tells_where_declared_tiers_saturate(capsys: pytest.CaptureFixture[str]) -> None:
    # Declared: 780, 600 and 360 ms. 2 threads of the gate never wait behind 30 of each: 2 / 780 ms.
    options = ["--replicas", "gate=1,orders=5,stock=8", "--threads", "gate=2", "--json"]
    found = json.loads(_answer(capsys, 0, SHOP, *options)[0])
    assert found["mst_per_s"]["gate"] == pytest.approx(2 / 0.78)
    assert found["bottleneck"] == "gate"
    assert found["own_limit_per_s"]["stock"] == pytest.approx(8 * 4 / 0.36)


def test_services__shows_people_the_bottleneck_and_that_nothing_was_measured(
    capsys: pytest.CaptureFixture[str],
) -> None:
    out, _ = _answer(capsys, 0, SHOP, "--replicas", "gate=9,orders=9,stock=1")
    assert "the bottleneck is stock" in out
    assert "service times of gate, orders, stock are placeholders" in out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--replicas", "gate=1,orders=1"], "plan gives no parallelism for operator 'stock'"),
        (["--replicas", "gate=1,orders=1,stock=1", "--threads", "till=2"], "unknown service 'till'"),
        (["--replicas", "gate=1,orders=1,stock=1", "--threads", "gate=0"], "a pool of 0 threads; give at least 1"),
        (["--replicas", "gate=1,orders=1,stock=1", "--load", "stock=2"], "load of 'stock', which is no source"),
    ],
)
def test_services__of_what_cannot_be_says_so_in_a_line(
    capsys: pytest.CaptureFixture[str], options: list[str], message: str
) -> None:
    _, error = _answer(capsys, 1, SHOP, *options)
    assert message in error
    assert error.count("\n") == 1


def test_the_example_on_kubernetes__is_the_one_on_loopback() -> None:
    local, remote = (read_topology_file(EXAMPLES / name) for name in ("shop.yaml", "shop-kubernetes.yaml"))
    assert local.as_topology() == remote.as_topology()
    assert local.declared_profiles() == remote.declared_profiles()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"threads": {"gate": 8, "orders": 6}}, "services.threads gives nothing for 'stock'"),
        ({"calls": {"gate->stock": "calls_total"}}, "services.calls names the unknown stream 'gate->stock'"),
        ({"requests": {"gate": "rate(x[1m])", "orders": "x", "stock": "x"}}, "is no NAME or NAME{LABELS}"),
    ],
)
def test_section_services__is_held_to_the_topology(tmp_path: Path, change: dict[str, object], message: str) -> None:
    body = yaml.safe_load(SHOP.read_text())
    body["services"] |= change
    (tmp_path / "shop.yaml").write_text(yaml.safe_dump(body))
    with pytest.raises(FileError) as caught:
        read_topology_file(tmp_path / "shop.yaml")
    assert message in str(caught.value)


def test_section_services__wants_a_counter_where_two_services_call_one(tmp_path: Path) -> None:
    body = yaml.safe_load(SHOP.read_text())
    body["streams"].append({"from": "gate", "to": "stock"})
    (tmp_path / "shop.yaml").write_text(yaml.safe_dump(body))
    with pytest.raises(FileError, match="gives nothing for orders->stock, and several services call"):
        read_topology_file(tmp_path / "shop.yaml")
