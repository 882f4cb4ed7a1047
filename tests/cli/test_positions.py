"""`positions`: what sources that read only what is new have read, and resets that say what they read again."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from graph_compiler.cli.app import app
from graph_compiler.staging.store.local_store import LocalStore
from tests.staging.positions import world as worlds
from tests.staging.positions.world import World


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    """Return a world below the staging root of an Airflow; three runs have published a file each."""
    root = tmp_path / "staging"
    root.mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("AIRFLOW_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("AIRFLOW__GRAPH_COMPILER__STAGING_ROOT", str(root))
    monkeypatch.setattr(worlds, "ROOT", str(root))
    world = World()
    for run in ("r1", "r2", "r3"):
        world.arrives()
        assert world.attempt(run)
    for key, content in world.store.content.items():
        LocalStore().put_if_absent(key, content)
    return world


def positions(*words: str, answer: str = "y\n") -> Result:
    return CliRunner().invoke(app, ["positions", *words], input=answer)


@pytest.mark.usefixtures("world")
def test_the_list_has_each_position_with_its_last_entry(tmp_path: Path) -> None:
    done = positions("list")
    assert done.exit_code == 0, done.output
    assert "shop orders\n" in done.stdout
    assert "run r3: 1 new file, 2 B; published" in done.stdout
    assert f"1 position in {tmp_path}/staging" in done.stdout
    (row,) = json.loads(positions("list", "--json").stdout)
    assert (row["pipeline"], row["source"], row["entry"]["number"], row["state"]) == ("shop", "orders", 2, "published")
    assert json.loads(positions("list", "other", "--json").stdout) == []


@pytest.mark.usefixtures("world")
def test_a_position_is_shown_with_its_files() -> None:
    done = positions("show", "shop", "orders", "--files")
    assert done.exit_code == 0, done.output
    assert [line.strip() for line in done.stdout.splitlines() if "file:/" in line] == [
        *("file:/in/0", "file:/in/1", "file:/in/2")
    ]
    shown = json.loads(positions("show", "shop", "orders", "--json").stdout)
    assert [one["entry"]["identity"]["run_id"] for one in shown] == ["r1", "r2", "r3"]


@pytest.mark.parametrize(
    ("options", "again", "to"),
    [
        ((), "run r1: 1 new file, 0 B, published; run r2: 1 new file, 1 B, published; run r3: 1 new", -1),
        (("--to", "r2"), "run r3: 1 new file, 2 B, published", 1),
        (("--before", "r2"), "run r2: 1 new file, 1 B, published; run r3: 1 new file, 2 B, published", 0),
        (("--file", "file:/in/1"), "file:/in/1", -1),
    ],
)
@pytest.mark.usefixtures("world")
def test_a_reset_says_what_it_reads_again_before_it_does_it(options: tuple[str, ...], again: str, to: int) -> None:
    refused = positions("reset", "shop", "orders", *options, answer="n\n")
    assert refused.exit_code == 1
    assert f"the next run reads again: {again}" in refused.stdout
    assert len(json.loads(positions("show", "shop", "orders", "--json").stdout)) == 3
    done = positions("reset", "shop", "orders", *options, "--json", "--yes")
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert (found["number"], found["to"], found["files"]) == (3, to, list(options[1:]) if "--file" in options else [])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("show", "shop", "other"), "source 'other' of 'shop' has no position"),
        (("show", "other", "orders"), "found: shop orders"),
        (("reset", "shop", "orders", "--to", "r9"), "found: r1, r2 and r3"),
        (("reset", "shop", "orders", "--to", "r1", "--before", "r2"), "allowed: one of them, or none"),
    ],
)
@pytest.mark.usefixtures("world")
def test_what_does_not_exist_is_refused_with_what_does(words: tuple[str, ...], said: str) -> None:
    done = positions(*words)
    assert done.exit_code == 2
    assert said in done.stderr


@pytest.mark.usefixtures("world")
def test_gc_keeps_positions_and_the_list_of_runs_names_them(tmp_path: Path) -> None:
    kept = sorted((tmp_path / "staging" / ".positions").rglob("*.json"))
    done = CliRunner().invoke(app, ["staging", "gc", "--older-than", "0 s"])
    assert "removed" in done.output or done.exit_code in (1, 2)
    assert sorted((tmp_path / "staging" / ".positions").rglob("*.json")) == kept
    listed = CliRunner().invoke(app, ["staging", "list"])
    assert "1 position of sources, which gc keeps" in listed.stdout, listed.output
