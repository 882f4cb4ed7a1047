"""A region is kept only if the code that runs now has computed it: `priced` is staged, the report after it fails."""

import importlib
import platform
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from graph_compiler import Parquet, StreamExecutionEnvironment
from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.declaration.functions import source_digest
from graph_compiler.deployment.describe.region_descriptors import describe_regions
from graph_compiler.deployment.documents.computed_by import ComputedBy, PartKind
from graph_compiler.deployment.documents.descriptor import RegionDescriptor
from graph_compiler.spark_runtime.region import running_code
from graph_compiler.spark_runtime.region.running_code import RunningCode, computed_by
from graph_compiler.staging.results.manifest_log import ManifestLog
from tests.harness.region_tries import STORE, execution_of, run_try
from tests.spark.functions import same_batches

pytestmark = [pytest.mark.spark, pytest.mark.ci]
STEPS = """
from pyspark.sql import functions as F
import money_rates
import money_coins

def priced(rows):
    money_rates.meanwhile()
    return rows.withColumn("price", F.col("x") * money_rates.RATE * money_coins.CENTS)
"""
RATES = """
from tests.spark.region.test_kept_by_code import meanwhile
RATE = {rate}
"""
OURS = ("money_steps", "money_rates", "money_coins")
_happens: dict[str, Callable[[], None]] = {}


def meanwhile() -> None:
    """Do what a test asks for, once, while the first region is evaluated."""
    _happens.pop("priced", lambda: None)()


def reported(rows: DataFrame) -> DataFrame:
    """Return the rows, unless the test asks for a failure."""
    _happens.pop("reported", lambda: None)()
    return rows


class Till:
    """A project with `money_steps`, a folder beside it with `money_rates`, and the package `money_coins`."""

    def __init__(self, folder: Path, spark: SparkSession) -> None:
        self.folder, self.spark, self.condition = folder, spark, "x > 0"
        spark.range(1, 3).selectExpr("int(id) AS x").write.parquet(f"{folder}/in")
        self.write("project/money_steps.py", STEPS)
        self.rate(1)
        self.install("1.0")

    def write(self, name: str, text: str) -> None:
        file = self.folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def rate(self, rate: int) -> None:
        """Change the code that is neither in the project nor in a package."""
        self.write("helpers/money_rates.py", RATES.format(rate=rate))

    def install(self, version: str, cents: int = 100) -> None:
        """Install a version of money_coins, whose list of files is always the same."""
        info = "site-packages/money_coins.dist-info"
        self.write("site-packages/money_coins.py", f"CENTS = {cents}\n# {version}: other bytes each time\n")
        self.write(f"{info}/METADATA", f"Name: money-coins\nVersion: {version}\n")
        self.write(f"{info}/RECORD", "money_coins.py,,\n")

    def tries(self, number: int) -> list[str]:
        """Run the task as a new driver does; return the messages of the failures."""
        forget()
        env = StreamExecutionEnvironment("till")
        env.from_source(Parquet(f"{self.folder}/in"), "numbers").filter(self.condition).transform(
            importlib.import_module("money_steps").priced
        ).name("priced").stage("expensive", same_task=True).transform(reported).name("report").sink_to(
            Parquet(f"{self.folder}/out")
        ).name("out")
        self.regions = describe_regions(compile_pipeline(env.pipeline()))
        messages = run_try(self.regions, self.folder, number, self.spark)
        layout = execution_of(self.regions[0], self.folder, number).layout
        log = ManifestLog(store=STORE, layout=layout)
        self.epochs = len(log.epochs(self.regions[0].results[0].id))
        return messages

    def prices(self) -> list[int]:
        return sorted(row.price for row in self.spark.read.parquet(f"{self.folder}/out").collect())


def forget() -> None:
    """Forget the modules, as a new process does."""
    for name in OURS:
        sys.modules.pop(name, None)
    importlib.invalidate_caches()
    source_digest.cache_clear()


@pytest.fixture
def till(tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> Iterator[Till]:
    for name in ("project", "helpers", "site-packages"):
        monkeypatch.syspath_prepend(tmp_path / name)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # files change within a second
    found = Till(tmp_path, spark)
    _happens["reported"] = fail
    (message,) = found.tries(1)
    assert "not yet" in message
    yield found
    _happens.clear()
    forget()


def fail() -> None:
    raise ValueError("not yet")


def test_a_region_is_kept_while_its_code_is_the_same(till: Till) -> None:
    assert till.tries(2) == []
    assert till.epochs == 1
    assert till.prices() == [100, 200]


@pytest.mark.parametrize(
    ("change", "said", "prices"),
    [
        (
            lambda till: till.rate(2),
            "'priced' runs again: the code of module 'money_rates' has changed since",
            [200, 400],
        ),
        (
            lambda till: till.install("1.1", cents=50),
            "'priced' runs again: money-coins 1.0 computed it, now 1.1 is installed",
            [50, 100],
        ),
    ],
    ids=["a helper outside the project", "an installed package"],
)
def test_what_other_code_has_computed_is_computed_again(
    till: Till, capsys: pytest.CaptureFixture[str], change: Callable[[Till], None], said: str, prices: list[int]
) -> None:
    change(till)
    assert till.tries(2) == []
    assert till.epochs == 2
    assert till.prices() == prices
    assert said in capsys.readouterr().out


def test_what_was_computed_while_its_code_changed_is_computed_again(
    till: Till, capsys: pytest.CaptureFixture[str]
) -> None:
    till.rate(3)
    _happens["priced"] = lambda: till.rate(2)
    _happens["reported"] = fail
    assert len(till.tries(2)) == 1
    till.rate(3)
    assert till.tries(3) == []
    assert till.epochs == 3
    assert "its code changed while it ran: the code of module 'money_rates'" in (capsys.readouterr().out)


def test_what_reads_the_environment_is_never_kept(till: Till, capsys: pytest.CaptureFixture[str]) -> None:
    till.condition = "x > length('${env:MONEY_PASSWORD}')"
    _happens["reported"] = fail
    assert len(till.tries(2)) == 1
    assert till.tries(3) == []
    assert till.epochs == 3
    assert "'priced' runs again: it reads ${env:MONEY_PASSWORD}, but only values of" in (capsys.readouterr().out)


def test_the_program_is_recorded_with_its_settings(till: Till) -> None:
    code = RunningCode.of(till.regions, till.spark)
    parts = {(part.kind, part.name): part.version for part in code.program}
    assert parts[PartKind.PROGRAM, "Spark"] == till.spark.version
    assert parts[PartKind.PROGRAM, "Java"].startswith("1")
    assert parts[PartKind.SETTING, "spark.sql.ansi.enabled"] == "true"
    assert not any("password" in name for _, name in parts)
    names = {part.name for part in computed_by(till.regions[0], ()).parts}
    assert (PartKind.OWN, "graph_compiler") in parts
    assert {"money_steps", "money_rates", "money-coins", "pandas"} <= names


def batches_region(function: Callable[..., object]) -> RegionDescriptor:
    env = StreamExecutionEnvironment("batches")
    env.from_source(Parquet("/in"), "numbers").map_partitions(function, "x INT").name("batches").sink_to(
        Parquet("/out")
    ).name("out")
    (region,) = describe_regions(compile_pipeline(env.pipeline()))
    return region


def test_executors_of_other_hosts_are_asked(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    region = batches_region(same_batches)
    here = RunningCode.of([region], spark)
    assert here.on_executors == {}, "workers of a local master have the driver's Python"
    monkeypatch.setattr(spark.sparkContext, "master", "spark://elsewhere:7077")
    code = RunningCode.of([region], spark)
    found = {part.name: part for part in code.on_executors[region.region_id].parts}
    assert {part.kind for part in found.values()} == {PartKind.EXECUTORS}
    assert found["Python"].version == platform.python_version()
    assert found["pandas"].version == version("pandas")
    assert code.why_other(region, code.at_end(region)) is None
    others = replace(found["pandas"], version="1.0")
    before = ComputedBy(parts=(*code.regions[region.region_id].parts, others))
    assert "executors with pandas 1.0 computed it" in str(code.why_other(region, before))


def test_executors_that_cannot_be_asked_keep_nothing(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    region = batches_region(same_batches)
    monkeypatch.setattr(spark.sparkContext, "master", "spark://elsewhere:7077")
    monkeypatch.setattr(running_code, "packages_on_executors", lambda *_: fail())
    code = RunningCode.of([region], spark)
    assert code.at_end(region).unknown == ("its executors could not be asked: ValueError in the driver")


def test_a_driver_whose_code_cannot_be_looked_at_runs_and_keeps_nothing(
    till: Till, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running_code, "own_code", fail)
    _happens["reported"] = fail
    assert len(till.tries(2)) == 1
    assert till.tries(3) == []
    assert till.epochs == 3


def test_what_cannot_be_looked_at_at_its_end_is_published_and_not_kept(
    till: Till, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = RunningCode.of(till.regions, till.spark)

    def is_gone() -> str:
        raise FileNotFoundError("replaced")

    monkeypatch.setattr(running_code, "own_code", is_gone)
    assert code.at_end(till.regions[0]).unknown == ("its code changed while it ran: FileNotFoundError in the driver")
