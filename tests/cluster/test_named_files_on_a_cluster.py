"""A file, a jar and a Python environment that a pipeline names are on executors, which see none of their folders."""

import json
import subprocess
import tarfile
from pathlib import Path

import pyspark
import pytest

from tests.cluster.conftest import ClusterHome, run
from tests.cluster.standalone_cluster import ENVIRONMENT
from tests.harness.reference import rows

pytestmark = pytest.mark.cluster

TWICE = """
public class Twice implements org.apache.spark.sql.api.java.UDF1<Long, Long> {
    public Long call(Long x) { return 2 * x; }
}
"""


def make_jar(folder: Path) -> None:
    """Write twice.jar, whose class is a function of Spark SQL."""
    (folder / "Twice.java").write_text(TWICE)
    jars = f"{Path(pyspark.__file__).parent}/jars/*"
    for command in (
        ["javac", "-cp", jars, "Twice.java"],
        ["jar", "cf", "twice.jar", "Twice.class"],
    ):
        subprocess.run(command, cwd=folder, check=True)


def make_environment(folder: Path, packages: Path) -> None:
    """Write packed.tar.gz as venv-pack does: an environment with a package `tiny`, and those of the executors' host."""
    place = folder / "packed"
    python = ENVIRONMENT / "bin" / "python"
    subprocess.run([python, "-m", "venv", "--without-pip", place], check=True)
    (site,) = place.glob("lib/python*/site-packages")
    (site / "tiny.py").write_text("WORD = 'packed'\n")
    (site / "host.pth").write_text(f"{packages / site.relative_to(place)}\n")
    with tarfile.open(folder / "packed.tar.gz", "w:gz") as archive:
        for each in place.iterdir():
            archive.add(each, each.name)


def test_a_file_a_jar_and_an_environment_are_on_the_executors(cluster_home: ClusterHome) -> None:
    home = cluster_home
    folder = home.repository / "named"
    make_jar(folder)
    make_environment(folder, home.cluster.folder / "environment")
    (folder / "rate.txt").write_text("1.5")
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
    assert sorted(copies) == ["packed.tar.gz", "rate.txt", "twice.jar"]
    submissions = [*home.staging.glob("named/*/tasks/*/*/submission.json")]
    assert len(submissions) == 2
    for each in submissions:
        command = json.loads(each.read_text())["command"]
        assert command[command.index("--jars") + 1] == str(copies["twice.jar"])
