"""A file, a jar and a Python environment that a pipeline names are on executors, which see none of their folders."""

import json

import pytest

from tests.cluster.conftest import ClusterHome, run
from tests.harness.named_files import make_named_files
from tests.harness.reference import rows

pytestmark = pytest.mark.cluster


def test_a_file_a_jar_and_an_environment_are_on_the_executors(cluster_home: ClusterHome) -> None:
    home = cluster_home
    make_named_files(home.repository / "named", home.cluster.folder / "environment")
    numbers = home.cluster.shared / "numbers.csv"
    numbers.write_text("x\n" + "".join(f"{n}\n" for n in range(8)))
    run(home, "named", {"input": str(numbers), "output": str(home.output)})

    found = rows(home.output / "read")
    assert [row[:5] for row in found] == [(n, 2 * n, 1.5, 1.5, "packed") for n in range(8)]
    prefixes = {str(row[5]) for row in found}
    disks = [str(home.cluster.disk(name)) for name in ("worker-1", "worker-2")]
    assert all(prefix.endswith("/environment") for prefix in prefixes)
    assert all(prefix.startswith(tuple(disks)) for prefix in prefixes)

    copies = {copy.name: copy for copy in home.staging.glob("named/*/files/*/*")}
    assert sorted(copies) == ["environment.tar.gz", "rate.txt", "twice.jar"]
    submissions = [*home.staging.glob("named/*/tasks/*/*/submission.json")]
    assert len(submissions) == 2
    for each in submissions:
        command = json.loads(each.read_text())["command"]
        assert command[command.index("--jars") + 1] == str(copies["twice.jar"])
