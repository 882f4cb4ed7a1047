"""The files that the pipeline `named` of the clusters' repository names, made by the tools that users have."""

import subprocess
import tarfile
from pathlib import Path

import pyspark

from tests.cluster.standalone_cluster import ENVIRONMENT

TWICE = """
public class Twice implements org.apache.spark.sql.api.java.UDF1<Long, Long> {
    public Long call(Long x) { return 2 * x; }
}
"""


def make_jar(folder: Path) -> None:
    """Write twice.jar, whose class is a function of Spark SQL."""
    (folder / "Twice.java").write_text(TWICE)
    jars = f"{Path(pyspark.__file__).parent}/jars/*"
    for command in (["javac", "-cp", jars, "Twice.java"], ["jar", "cf", "twice.jar", "Twice.class"]):
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


def make_named_files(folder: Path, packages: Path) -> None:
    """Make all files beside the pipeline; `packages` is the environment of the executors' host, as it sees it."""
    make_jar(folder)
    make_environment(folder, packages)
    (folder / "rate.txt").write_text("1.5")
