"""`graph-compiler ui` before it starts anything."""

import socket
import stat
from pathlib import Path

import pytest
from typer.testing import CliRunner

from graph_compiler.cli.app import app


def test_an_occupied_port_is_reported_before_anything_starts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("AIRFLOW_HOME", raising=False)
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        done = CliRunner().invoke(app, ["ui", "--port", str(port)])
    assert done.exit_code == 2
    assert f"another process listens on 127.0.0.1:{port}" in done.stderr
    for folder in (".airflow", ".airflow/ui"):
        assert stat.S_IMODE((tmp_path / folder).stat().st_mode) == 0o700
