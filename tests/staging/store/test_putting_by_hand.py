"""What messages say to who must write a document by hand: a command that the store has, or a sentence."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from graph_compiler.stores.known_stores import putting

TEXT = '{"given_up": true}'


def test_a_shell_writes_files_on_a_disk(tmp_path: Path) -> None:
    places = [tmp_path / "it's one.json", tmp_path / "2.json"]
    subprocess.run(putting(TEXT, *map(str, places)), shell=True, check=True)
    assert [place.read_text() for place in places] == [f"{TEXT}\n"] * 2


@pytest.mark.parametrize(
    ("place", "found"),
    [
        ("hdfs://nn:8020/r/0.json", f"echo '{TEXT}' | hdfs dfs -put -f - hdfs://nn:8020/r/0.json"),
        ("hdfs://nn:8020/r (1)/0.json", f"echo '{TEXT}' | hdfs dfs -put -f - hdfs:'//nn:8020/r (1)/0.json'"),
    ],
)
def test_a_command_of_a_store_writes_there(place: str, found: str) -> None:
    assert putting(TEXT, place) == found
    assert putting(TEXT, place, place) == f"{found} && {found}"


def test_a_store_whose_address_a_command_does_not_know_gets_a_sentence() -> None:
    assert putting("{}", "s3a://a/0", "s3a://a/1") == "put the text {} into s3a://a/0 and into s3a://a/1"
