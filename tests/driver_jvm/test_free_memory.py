"""How much memory a process in the background may use."""

from pathlib import Path

import pytest

from graph_compiler.driver_jvm.room_on_host import free_memory

GIB = 1 << 30


@pytest.fixture
def host(tmp_path: Path) -> Path:
    file = tmp_path / "meminfo"
    file.write_text("MemTotal:       25165824 kB\nMemAvailable:    8388608 kB\n")
    return file


def test_a_host_says_what_is_available(host: Path, tmp_path: Path) -> None:
    assert free_memory(host, tmp_path / "none") == 8 * GIB


@pytest.mark.parametrize(("most", "free"), [(f"{4 * GIB}", 1), ("max", 8), (f"{64 * GIB}", 8)])
def test_a_container_has_what_its_limit_leaves(host: Path, tmp_path: Path, most: str, free: int) -> None:
    (tmp_path / "memory.max").write_text(f"{most}\n")
    (tmp_path / "memory.current").write_text(f"{3 * GIB}\n")
    assert free_memory(host, tmp_path) == free * GIB


def test_where_there_is_no_linux_it_is_not_known(tmp_path: Path) -> None:
    assert free_memory(tmp_path / "none", tmp_path) is None
