"""The zone of a host, before it is pinned."""

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from graph_compiler.deployment.documents.jvm_settings import HOST_ZONE_VARIABLE
from graph_compiler.driver_jvm import pinned_process as module
from graph_compiler.driver_jvm.pinned_process import host_zone, pinned_process, pinned_variables


@pytest.fixture(autouse=True)
def restored(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.delenv(HOST_ZONE_VARIABLE, raising=False)
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize(
    ("zone", "found"),
    [
        ("UTC", None),
        ("Etc/GMT", None),
        ("Europe/Vienna", "Europe/Vienna"),
        ("Asia/Kathmandu", "Asia/Kathmandu"),
        ("Europe/London", "Europe/London"),
        ("Africa/Abidjan", None),
        ("Africa/Monrovia", "Africa/Monrovia"),
        ("CET-1CEST", "CET-1CEST"),
    ],
)
def test_a_host_has_a_zone_if_its_clock_ever_differed_from_utc(
    zone: str, found: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    assert host_zone() == found


def test_a_pinned_process_and_those_it_starts_still_know_the_hosts_zone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Asia/Kathmandu")
    time.tzset()
    with pinned_process():
        assert host_zone() == "Asia/Kathmandu"
        assert pinned_variables({HOST_ZONE_VARIABLE: "Europe/Vienna"})[HOST_ZONE_VARIABLE] == "Europe/Vienna"
    assert HOST_ZONE_VARIABLE not in os.environ


def test_without_tz_the_zone_is_that_of_the_system(tmp_path: Path) -> None:
    zone = tmp_path / "zoneinfo" / "Europe" / "Vienna"
    zone.parent.mkdir(parents=True)
    zone.touch()
    (tmp_path / "localtime").symlink_to(zone)
    assert module._system_zone(tmp_path / "localtime") == "Europe/Vienna"
