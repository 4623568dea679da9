"""Options of `forescale plan --all` that exclude each other."""

import pytest

from forescale.cli import main


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["orders", "--all"], "orders and --all are both given"),
        (["orders", "--fleet", "fleet.yaml"], "--fleet, --workers and --spark need --all"),
        (["--all", "--workers", "2", "--spark"], "--workers and --spark exclude each other"),
    ],
)
def test_options_that_do_not_go_together__are_wrong_usage(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["plan", *arguments])
    assert (ended.value.code, said in " ".join(capsys.readouterr().err.replace("│", " ").split())) == (2, True)
