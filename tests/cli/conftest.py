"""Projects for commands of the command line, which run in this process."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def forget_pipelines() -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "pipelines"]:
        del sys.modules[name]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Change to an empty project, without access to this project's pipelines; its imports are removed afterwards."""
    (tmp_path / "pipelines").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)  # what is there now is restored, also if a test prepends another folder
    sys.path[:] = [entry for entry in sys.path if Path(entry) not in (ROOT, tmp_path)]
    ours = {name: module for name, module in sys.modules.items() if name.startswith("pipelines")}
    forget_pipelines()
    yield tmp_path
    forget_pipelines()
    sys.modules.update(ours)
