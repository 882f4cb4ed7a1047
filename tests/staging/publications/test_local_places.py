"""Whether two folders overlap, whatever their names are."""

from pathlib import Path, PurePosixPath

import pytest

from graph_compiler.declaration.connectors.file_uris import local_path
from graph_compiler.staging.publications.local_places import LocalPlace


def at(path: object) -> LocalPlace:
    return LocalPlace.at(PurePosixPath(str(path)))


@pytest.mark.parametrize(
    ("uri", "path"),
    [
        ("/out/a/", "/out/a"),
        ("//out//a", "/out/a"),
        ("file:/out/a", "/out/a"),
        ("file:///out/a", "/out/a"),
        ("FILE:/out/a", "/out/a"),
        ("file:////out/a", "/out/a"),
        ("/out/%61", "/out/%61"),
        ("file://host/out", None),
        ("file:out", None),
        ("out", None),
        ("s3a://bucket/out", None),
    ],
)
def test_paths_are_normalized(uri: str, path: str | None) -> None:
    found = local_path(uri)
    assert (None if found is None else str(found)) == path


def test_missing_folders_are_compared_by_name(tmp_path: Path) -> None:
    assert at(tmp_path / "a").meets(at(tmp_path / "a/b"))
    assert at(tmp_path / "a/b").meets(at(tmp_path / "a"))
    assert not at(tmp_path / "a").meets(at(tmp_path / "ab"))
    assert at(tmp_path).meets(at(tmp_path / "a/b/../../c"))


@pytest.mark.parametrize("is_there", [False, True])
def test_links_are_followed_even_to_missing_targets(tmp_path: Path, is_there: bool) -> None:
    if is_there:
        (tmp_path / "real/a/x").mkdir(parents=True)
    else:
        (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real/a")
    assert at(tmp_path / "link/x").meets(at(tmp_path / "real/a"))
    assert at(tmp_path / "real").meets(at(tmp_path / "link/x"))
    assert not at(tmp_path / "link/x").meets(at(tmp_path / "real/b"))


def test_one_folder_under_two_names_is_recognized_by_its_inode(tmp_path: Path) -> None:
    """Like a bind mount, or a name in different case on a file system that ignores case."""
    (tmp_path / "a").mkdir()
    known = at(tmp_path / "a")
    alias = LocalPlace(path=PurePosixPath("/mnt/a"), inodes=known.inodes, rest=())
    inside = LocalPlace(path=PurePosixPath("/mnt/a/x"), inodes=known.inodes, rest=("x",))
    assert known.meets(alias)
    assert known.meets(inside)
    assert at(tmp_path / "a/x").meets(inside)
    assert not at(tmp_path / "a/y").meets(inside)


@pytest.mark.parametrize(
    ("target", "meets"),
    [
        ("in", True),
        ("in/2020", True),
        ("in/2020/x.csv", True),
        ("in/2021", False),
        ("in/out", False),
        ("in/2020/out", False),
        ("out", False),
    ],
)
def test_a_pattern_overlaps_the_paths_it_matches(tmp_path: Path, target: str, meets: bool) -> None:
    (tmp_path / "in/2020").mkdir(parents=True)
    (tmp_path / "in/2020/x.csv").touch()
    (tmp_path / "in/out").mkdir()
    source = LocalPlace.matching(PurePosixPath(tmp_path / "in/*/*.csv"))
    assert at(tmp_path / target).meets(source) is meets
