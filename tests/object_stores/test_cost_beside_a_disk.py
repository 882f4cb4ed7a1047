"""The command that measures a bucket beside a disk works, and the numbers of requests and bytes are as documented."""

from pathlib import Path

import pytest

from tests.object_stores.cost_beside_a_disk import DISK, STORE, TASKS, bench, table

pytestmark = pytest.mark.objects


def test_requests_and_bytes_of_flights_in_a_bucket(tmp_path: Path, january: Path) -> None:
    """`python -m tests.object_stores.cost_beside_a_disk` does this with all flights, in turns."""
    with bench(tmp_path, january) as small:
        disk, store = small.run(DISK), small.run(STORE)
        left = small.bytes_left()
    print(table({DISK: [disk], STORE: [store]}))
    assert disk.requests.total() == disk.sent == 0
    assert store.requests["Airflow"] <= 80 * TASKS
    assert store.requests["Spark"] <= 300 * TASKS
    # Each byte is sent once, and a few documents come and go.
    assert left <= store.sent <= left + 300_000
