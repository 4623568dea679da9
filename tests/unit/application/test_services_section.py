"""The section `services` of a topology file, by hand."""

from pathlib import Path

import pytest
import yaml

from forescale.files.file_error import FileError
from forescale.files.topology import read_topology_file

EXAMPLES = Path(__file__).parents[3] / "examples" / "services"
SHOP = EXAMPLES / "shop.yaml"


def test_the_example_on_kubernetes__is_the_one_on_loopback() -> None:
    local, remote = (read_topology_file(EXAMPLES / name) for name in ("shop.yaml", "shop-kubernetes.yaml"))
    assert local.as_topology() == remote.as_topology()
    assert local.declared_profiles() == remote.declared_profiles()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"threads": {"gate": 8, "orders": 6}}, "services.threads gives nothing for 'stock'"),
        ({"evaluated_threads": {"till": 2}}, "services.evaluated_threads names the unknown operator 'till'"),
        ({"evaluated_threads": {"gate": 0}}, "services.evaluated_threads.gate: Input should be greater than or equal"),
        ({"routing": "nearest"}, "services.routing: Input should be 'shared' or 'random' (given: 'nearest')"),
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


@pytest.mark.parametrize("field", ["max_latency_s", "max_p95_latency_s"])
def test_section_services__allows_no_bound_on_latencies_that_are_not_known(tmp_path: Path, field: str) -> None:
    body = yaml.safe_load(SHOP.read_text())
    body["planning"][field] = 0.5
    (tmp_path / "shop.yaml").write_text(yaml.safe_dump(body))
    with pytest.raises(FileError, match=f"planning.{field}: latencies of requests are not known of services"):
        read_topology_file(tmp_path / "shop.yaml")


def test_section_services__wants_a_counter_where_two_services_call_one(tmp_path: Path) -> None:
    body = yaml.safe_load(SHOP.read_text())
    body["streams"].append({"from": "gate", "to": "stock"})
    (tmp_path / "shop.yaml").write_text(yaml.safe_dump(body))
    with pytest.raises(FileError, match="gives nothing for orders->stock, and several services call"):
        read_topology_file(tmp_path / "shop.yaml")
