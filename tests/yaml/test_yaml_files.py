"""Which files a pipeline's file may name, and how they are read."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from graph_compiler.errors import InvalidPipelineError
from graph_compiler.projects.yaml.reader import read_pipeline

TEXT = """
name: p
sources:
  s: {range: 0, end: 9}
steps:
  - {from: s, sql: {file: "%s"}, name: q}
sinks:
  out: {from: q, sink_to: {parquet: /out}}
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "pipelines/sales").mkdir(parents=True)
    (tmp_path / "pipelines/shared.sql").write_text("SELECT 1 FROM {input}")
    (tmp_path / "secret.txt").write_text("root:x:0:0")
    return tmp_path / "pipelines/sales/sales.yaml"


def refusal(file: Path, name: str) -> str:
    file.write_text(TEXT % name)
    with pytest.raises(InvalidPipelineError) as raised:
        read_pipeline(file)
    (problem,) = raised.value.problems
    assert "root:x" not in str(problem)
    return problem.message


@pytest.mark.parametrize("name", ["../../../../../../../etc/passwd", "../../secret.txt"])
def test_a_file_outside_the_pipelines_folder_is_not_read(file: Path, name: str) -> None:
    assert refusal(file, name).startswith(f"'{name}' cannot be read: it is outside ")


@pytest.mark.parametrize("name", ["/etc/passwd", "~/.ssh/id_rsa", "~root/x.sql"])
def test_absolute_and_home_paths_are_not_read(file: Path, name: str) -> None:
    assert refusal(file, name) == f"'{name}' cannot be read: it is not a relative path"


@pytest.mark.parametrize("links_to", ["../../secret.txt", "/etc/passwd"])
def test_a_link_is_followed_to_where_it_leads(file: Path, links_to: str) -> None:
    (file.parent / "query.sql").symlink_to(links_to)
    assert "it is outside" in refusal(file, "query.sql")


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (os.mkfifo, "it is not a regular file"),
        (os.mkdir, "it is not a regular file"),
        (lambda path: path.write_bytes(b"x" * 1_000_001), "it has more than 1000000 bytes"),
        (lambda path: path.write_bytes(b"\xff"), "can't decode"),
    ],
)
def test_special_oversized_and_binary_files_are_not_read(file: Path, make: Callable[[Path], None], words: str) -> None:
    make(file.parent / "query.sql")
    assert words in refusal(file, "query.sql")


def test_a_file_elsewhere_in_the_pipelines_folder_is_read(file: Path) -> None:
    file.write_text(TEXT % "../shared.sql")
    assert "SELECT 1" in str(read_pipeline(file))


def test_a_fifo_in_place_of_a_pipeline_file_does_not_block(file: Path) -> None:
    os.mkfifo(file)
    with pytest.raises(InvalidPipelineError, match="it is not a regular file"):
        read_pipeline(file)
