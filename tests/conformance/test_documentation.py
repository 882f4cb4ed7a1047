"""Every symbol that docs/flink.md names exists, and every noun of Flink's has a row that says where it is."""

import re
from importlib import import_module
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[2] / "docs" / "flink.md").read_text()
SYMBOLS = sorted(set(re.findall(r"`([a-z_.]+):([A-Za-z_.]+)`", PAGE)) - {("module", "name")})
ROWS = re.findall(
    r"^\| (.+?) \| (.+?) \| (.*?) ?\|$", PAGE.partition("## Concepts that Flink does not have")[0], re.MULTILINE
)
WITHOUT_SYMBOL = ("elsewhere", "not carried over", "not carried over yet")
ASKED_FOR = (
    "execute, executeAsync",
    "PipelineExecutor",
    "PipelineExecutorFactory",
    "ClusterDescriptor",
    "JobClient",
    "JobListener",
    "attached and detached mode",
    "SavepointRestoreSettings",
    "local recovery",
    "MasterTriggerRestoreHook",
    "CheckpointCoordinator",
    "CheckpointStatsTracker",
    "StateBackend",
    "gauges of restarts, downtime and uptime",
    "JobInformation",
    "ShuffleMaster",
    "user artifacts",
)


def _needs(module: str) -> list[pytest.MarkDecorator]:
    return [pytest.mark.spark] if module.startswith("spark_runtime.") else []


@pytest.mark.parametrize(
    ("module", "name"), [pytest.param(*symbol, marks=_needs(symbol[0]), id=":".join(symbol)) for symbol in SYMBOLS]
)
def test_the_symbol_exists(module: str, name: str) -> None:
    found = import_module(f"graph_compiler.{module}")
    for part in name.split("."):
        found = getattr(found, part)


def test_there_are_symbols() -> None:
    assert len(SYMBOLS) > 60


@pytest.mark.parametrize("noun", ASKED_FOR)
def test_a_noun_that_readers_of_flink_look_for_has_one_row(noun: str) -> None:
    assert sum(noun in nouns for nouns, _, _ in ROWS) == 1


def test_a_row_names_what_is_here_or_says_why_there_is_nothing() -> None:
    said = [row for row in ROWS if row[0] not in ("Flink", "---")]
    assert len(said) > 70
    for nouns, here, words in said:
        assert here.startswith("`") or (here in WITHOUT_SYMBOL and words), nouns
