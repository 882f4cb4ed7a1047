"""Which versions this package is tested with. docs/versions.md has the table, and says what was run on each row.

`doctor`, drivers, the package's requirements and the page take them from here, which
tests/architecture/test_tested_versions.py compares.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, auto
from importlib.metadata import PackageNotFoundError, version

_MINOR = re.compile(r"(\d+)\.(\d+)")


class Standing(Enum):
    """What a version is to this package."""

    TESTED = auto()
    OLDER = auto()
    """Refused: a reason is known."""
    NEWER = auto()
    """Not tested yet: it may work."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Product:
    """A product whose minor versions are tested: its package, the minors from old to new, and why not older ones."""

    name: str
    package: str
    minors: tuple[str, ...]
    why_not_older: str

    @property
    def requirement(self) -> str:
        """Return what pip installs: the newest minor that is tested."""
        return f"{self.package}>={self.minors[-1]},<{next_minor(self.minors[-1])}"

    @property
    def range(self) -> str:
        """Return the minors in words: `4.1 to 4.3`, or `4.3`."""
        return self.minors[0] if len(self.minors) == 1 else f"{self.minors[0]} to {self.minors[-1]}"

    @property
    def range_is(self) -> str:
        """Return the minors with their verb: `4.1 to 4.3 are`."""
        return f"{self.range} {'is' if len(self.minors) == 1 else 'are'}"

    def standing(self, found: str) -> Standing:
        """Return what a version is, by its first two numbers; one without them is newer."""
        first = numbers(found)
        if minor_of(found) in self.minors:
            return Standing.TESTED
        return Standing.OLDER if first and first < numbers(self.minors[0]) else Standing.NEWER

    def why_refused(self, found: str) -> str | None:
        """Return why a version cannot be used, None if it can, or is not tested yet."""
        if self.standing(found) is not Standing.OLDER:
            return None
        return f"{self.name} {found} is too old; {self.range_is} supported: {self.why_not_older}"


def numbers(found: str) -> tuple[int, int] | tuple[()]:
    """Return the first two numbers of a version, nothing if it does not begin with them."""
    matched = _MINOR.match(found)
    return (int(matched[1]), int(matched[2])) if matched else ()


def minor_of(found: str) -> str:
    """Return a version's minor: 4.3 of 4.3.0; a version of another form as it is."""
    return ".".join(map(str, numbers(found))) or found


def next_minor(minor: str) -> str:
    """Return the minor after this one: 4.4 after 4.3."""
    major, number = minor.split(".")
    return f"{major}.{int(number) + 1}"


def installed_version(package: str) -> str | None:
    """Return the version of a package of this Python, None if it is not installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def without_client(pyspark: str) -> str:
    """Return the command that restores the files of a pyspark into which pyspark-client was installed."""
    return f'pip uninstall -y pyspark-client && pip install --force-reinstall --no-deps "pyspark=={pyspark}"'


PYTHON = Product(
    name="Python",
    package="python",
    minors=("3.11", "3.12", "3.13"),
    why_not_older="this package uses the syntax of Python 3.11",
)
SPARK = Product(
    name="Spark",
    package="pyspark",
    minors=("4.1", "4.2", "4.3"),
    why_not_older="4.0 and 3.5 have no type TIME, and lack other classes that drivers call",
)
AIRFLOW = Product(
    name="Airflow",
    package="apache-airflow",
    minors=("3.2", "3.3"),
    why_not_older="the task SDK of 3.1 has no timetables, configuration and exceptions, which Dags and tasks import",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TableFormat:
    """A format of tables that runs on some minors of Spark: for each, the version that is tested with it.

    `artifact_form` has both: `…-runtime-{spark}_2.13:{version}`.
    """

    name: str
    artifact_form: str
    versions: Mapping[str, str]

    def artifact(self, spark: str) -> str:
        """Return the coordinates of its jar for a minor of Spark that it runs on."""
        return self.artifact_form.format(spark=spark, version=self.versions[spark])

    @property
    def jar_form(self) -> str:
        """Return the pattern of its jar's name, whose group is the minor of Spark that the jar was made for."""
        name = self.artifact_form.split(":")[1]
        return re.escape(name).replace(re.escape("{spark}"), r"(\d+\.\d+)")

    def why_not_with(self, spark: str) -> str | None:
        """Return why it does not run on a minor of Spark, None if it does."""
        return None if spark in self.versions else f"no {self.name} that is tested runs on Spark {spark}"

    @property
    def allowed(self) -> str:
        """Return in words what it runs on."""
        return ", ".join(f"Spark {minor} with {self.artifact(minor)}" for minor in self.versions)

    def hint(self, *others: TableFormat) -> str:
        """Return how to get the newest Spark that it runs on, and the others, if there is one."""
        together = [minor for minor in self.versions if all(minor in other.versions for other in others)]
        newest = max(together or self.versions, key=numbers)
        return f'pip install "pyspark>={newest},<{next_minor(newest)}", where Airflow parses Dags and for the driver'


ICEBERG = TableFormat(
    name="Iceberg",
    artifact_form="org.apache.iceberg:iceberg-spark-runtime-{spark}_2.13:{version}",
    versions={"4.1": "1.12.0"},
)
DELTA = TableFormat(
    name="Delta Lake",
    artifact_form="io.delta:delta-spark_{spark}_2.13:{version}",
    versions={"4.1": "4.4.0", "4.2": "4.4.0"},
)


@dataclass(frozen=True, slots=True)
class Row:
    """Minor versions that were tested together."""

    python: str
    spark: str
    airflow: str

    def __str__(self) -> str:
        return f"Python {self.python}, Spark {self.spark} and Airflow {self.airflow}"

    @classmethod
    def of(cls, python: str, spark: str, airflow: str) -> Row:
        """Return the minors of versions."""
        return cls(minor_of(python), minor_of(spark), minor_of(airflow))

    @property
    def is_tested(self) -> bool:
        """Whether docs/versions.md has it."""
        return self in TOGETHER


TOGETHER = (
    Row("3.11", "4.3", "3.3"),
    Row("3.12", "4.2", "3.3"),
    Row("3.13", "4.3", "3.3"),
    Row("3.11", "4.1", "3.3"),
    Row("3.11", "4.3", "3.2"),
    Row("3.13", "4.1", "3.2"),
)
"""Each Spark, each Python, each Airflow with the oldest and the newest Spark; CI runs the first on each commit."""
