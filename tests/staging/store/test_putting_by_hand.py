"""What messages say to who must write a document by hand: a command that the store has, or a sentence."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from graph_compiler.stores import known_stores
from graph_compiler.stores.hdfs import HDFS
from graph_compiler.stores.known_stores import putting

TEXT = '{"given_up": true}'


def test_a_shell_writes_files_on_a_disk(tmp_path: Path) -> None:
    places = [tmp_path / "it's one.json", tmp_path / "2.json"]
    subprocess.run(putting(TEXT, *map(str, places)), shell=True, check=True)
    assert [place.read_text() for place in places] == [f"{TEXT}\n"] * 2


@pytest.mark.parametrize(
    ("place", "found"),
    [
        ("s3a://lake/r/0.done.json", f"echo '{TEXT}' | aws s3 cp - s3://lake/r/0.done.json"),
        ("s3a://lake/r (1)/0.json", f"echo '{TEXT}' | aws s3 cp - s3:'//lake/r (1)/0.json'"),
        ("hdfs://nn:8020/r/0.json", f"echo '{TEXT}' | hdfs dfs -put -f - hdfs://nn:8020/r/0.json"),
    ],
)
def test_a_command_of_a_store_writes_there(place: str, found: str) -> None:
    assert putting(TEXT, place) == found
    assert putting(TEXT, place, place) == f"{found} && {found}"


def test_a_store_without_a_command_gets_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(known_stores, "kind_of_place", lambda _: replace(HDFS, scheme="box", put_command=None))
    assert putting("{}", "box://a/0", "box://a/1") == "put the text {} into box://a/0 and into box://a/1"
