"""`forescale config init` and `forescale config dags`: a home and a DAGs folder, made again and again without harm."""

import json
import stat
import subprocess
import sys

import pytest
from dotenv import dotenv_values

from forescale.cli import main
from forescale.files.file_error import FileError
from forescale.local.airflow.dag_links import link_dags
from forescale.local.home_folder import make_home, settings_file, settings_template
from forescale.places import bundled
from forescale.settings import SETTINGS_FILE, Settings

NAMES = {path.name for path in bundled("dags").glob("*.py")}


def test_config_init__makes_a_home_that_settings_are_read_from(tmp_path, capsys):
    home = tmp_path / "home"
    with pytest.raises(SystemExit) as ended:
        main(["config", "init", str(home), "--json"])
    assert ended.value.code == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer == {"home": str(home), "made": [SETTINGS_FILE, "topologies", "dags", "examples"], "kept": []}
    assert stat.S_IMODE((home / SETTINGS_FILE).stat().st_mode) == 0o600
    assert (home / "examples" / "topologies" / "call-analytics.yaml").is_file()
    assert {link.name for link in (home / "dags").iterdir()} == NAMES
    assert Settings(home=home).topologies == home / "topologies"


def test_config_init__leaves_what_people_have_edited(tmp_path):
    make_home(tmp_path)
    (tmp_path / SETTINGS_FILE).write_text("FORESCALE_REVIEW=false\n")
    (tmp_path / "topologies" / "mine.yaml").write_text("mine")
    (tmp_path / "examples" / "edited.yaml").write_text("mine")
    assert make_home(tmp_path).made == ()
    assert (tmp_path / SETTINGS_FILE).read_text() == "FORESCALE_REVIEW=false\n"
    assert (tmp_path / "topologies" / "mine.yaml").read_text() == "mine"
    assert (tmp_path / "examples" / "edited.yaml").read_text() == "mine"


def test_config_init__refuses_a_file(tmp_path):
    (tmp_path / "home").write_text("")
    with pytest.raises(FileError, match=r"home is a file; give a folder"):
        make_home(tmp_path / "home")


def test_settings_template__sets_nothing_and_names_every_setting(tmp_path):
    file = tmp_path / SETTINGS_FILE
    file.write_text(settings_template())
    assert dotenv_values(file) == {}
    file.write_text(settings_template().replace("\n#FORESCALE", "\nFORESCALE"))
    assert {name.removeprefix("FORESCALE_").lower() for name in dotenv_values(file)} == {
        name for name in Settings.model_fields if name != "home"
    }


def test_settings_template__shows_defaults_as_they_are_read(tmp_path):
    """A line whose # is taken away changes nothing, unless a value is still to be given."""
    lines = settings_template().replace("\n#FORESCALE", "\nFORESCALE").splitlines()
    given = [line for line in lines if line.startswith("FORESCALE") and not line.endswith("=")]
    assert len(given) > 8
    for home, body in (("a", ""), ("b", "\n".join(given))):
        (tmp_path / home).mkdir()
        (tmp_path / home / SETTINGS_FILE).write_text(body)
    own = {"home", "topologies", "mlruns"}
    assert Settings(home=tmp_path / "a").model_dump(exclude=own) == Settings(home=tmp_path / "b").model_dump(
        exclude=own
    )


def test_settings_file__is_read_as_it_was_written(tmp_path):
    body = settings_file(review=False, mlruns=tmp_path / "with space", spark_settings={"a": "b"})
    (tmp_path / SETTINGS_FILE).write_text(body)
    settings = Settings(home=tmp_path)
    assert (settings.review, settings.mlruns, settings.spark_settings) == (False, tmp_path / "with space", {"a": "b"})


def test_dag_links__are_made_anew_by_another_installation_and_old_ones_removed(tmp_path):
    tmp_path.joinpath("plan.py").symlink_to("/old/python3.11/site-packages/forescale/dags/plan.py")
    tmp_path.joinpath("gone.py").symlink_to("/old/python3.11/site-packages/forescale/dags/gone.py")
    tmp_path.joinpath("mine.py").write_text("mine")
    link_dags(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == NAMES | {"mine.py"}
    assert tmp_path.joinpath("plan.py").readlink() == bundled("dags") / "plan.py"
    assert tmp_path.joinpath("mine.py").read_text() == "mine"


@pytest.mark.parametrize("target", ["/team/dags/x.py", "/team/forescale/dags/x.py"])
def test_dag_links__leave_a_link_of_the_users_own(tmp_path, target):
    place = tmp_path / "x.py"
    place.symlink_to(target)
    link_dags(tmp_path)
    assert str(place.readlink()) == target


@pytest.mark.parametrize("kind", ["file", "link"])
def test_dag_links__never_replace_what_is_somebody_elses(tmp_path, kind):
    place = tmp_path / "plan.py"
    place.write_text("mine") if kind == "file" else place.symlink_to("/team/plan.py")
    with pytest.raises(FileError, match=r"plan\.py is there and no link to a DAG of forescale"):
        link_dags(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["plan.py"]


def test_dags__without_a_folder_tells_the_bundle(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["config", "dags", "--json"])
    assert ended.value.code == 0
    bundle = json.loads(capsys.readouterr().out)["bundle"]
    assert bundle["classpath"] == "forescale.orchestration.installed_dags.InstalledDags"


@pytest.mark.parametrize("command", [["config", "dags"], ["config", "init"]])
def test_a_folder_without_a_name__is_refused_and_nothing_is_made(tmp_path, monkeypatch, capsys, command):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as ended:
        main([*command, ""])
    assert ended.value.code == 2
    assert "the name of the folder is empty" in " ".join(capsys.readouterr().err.replace("│", " ").split())
    assert list(tmp_path.iterdir()) == []


def test_a_home_elsewhere__has_a_tracking_store_of_its_own(tmp_path, monkeypatch):
    """Without a settings file it shared the checkout's with the demo."""
    monkeypatch.delenv("FORESCALE_MLRUNS", raising=False)
    assert Settings(home=tmp_path / "home").mlruns == tmp_path / "home" / "mlruns"


def test_config_init__on_a_full_disk_names_a_file_and_leaves_no_part(tmp_path):
    """A limit of 2 kB on each file stands for the disk: larger examples cannot be written."""
    home = tmp_path / "home"
    limited = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))"
    code = f"{limited}; from forescale.cli.main import main; main(['config', 'init', {str(home)!r}])"
    ended = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 1
    assert ended.stderr.startswith("forescale: ")
    assert f"{home}/examples cannot be written: [Errno 27] File too large; free space" in ended.stderr
    assert ended.stderr.count("\n") == 1
    assert not [path.name for path in home.iterdir() if "part" in path.name or path.name == "examples"]
