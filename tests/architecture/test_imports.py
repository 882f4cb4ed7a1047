"""What importing costs: each claim is tested in a separate process."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


MOST_OF_OURS, MOST_OF_OTHERS = 277, 33
"""How many modules a driver may import beside pyspark's: 270 of ours take 0.4 s of CPU, in every task.

Four of the others are those of Spark's classic session, which every driver imports when it starts one.
"""


def modules_after(code: str) -> set[str]:
    """Run code in a fresh interpreter; return the top-level modules that it has loaded."""
    return {name.split(".")[0] for name in all_modules_after(code)}


def all_modules_after(code: str) -> set[str]:
    """Run code in a fresh interpreter; return the modules that it has loaded."""
    program = f"import sys; sys.path[:0] = ['plugins', '.']; {code}; print(*sys.modules)"
    measured = ("COVERAGE_PROCESS_CONFIG", "COVERAGE_PROCESS_START")  # coverage would be loaded, too
    environment = {name: value for name, value in os.environ.items() if name not in measured}
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, env=environment, capture_output=True, text=True, check=True
    )
    return set(done.stdout.split())


def test_declaring_loads_only_the_standard_library() -> None:
    loaded = modules_after("import pipelines.flights")
    foreign = loaded - set(sys.stdlib_module_names) - {"graph_compiler", "pipelines", "__main__", "__mp_main__"}
    assert not {name for name in foreign if not name.startswith("_")}, foreign


def test_compiling_loads_neither_airflow_nor_pyspark() -> None:
    loaded = modules_after(
        "from pipelines.flights import env; "
        "from graph_compiler.compiler.pipeline_compiler import compile_pipeline; "
        "from graph_compiler.deployment.describe.region_descriptors import describe_regions; "
        "from graph_compiler.explain.plan.plan_writer import plan_of; "
        "from graph_compiler.explain.text.plan_text import explain_text; "
        "compiled = compile_pipeline(env.pipeline()); describe_regions(compiled); explain_text(plan_of(compiled))"
    )
    assert "pydantic" in loaded
    assert not loaded & {"airflow", "pyspark", "py4j", "typer", "rich"}


@pytest.mark.spark
def test_a_driver_imports_few_modules() -> None:
    before = all_modules_after("import pyspark.sql")
    added = all_modules_after("import graph_compiler.spark_runtime.main") - before
    ours = {name for name in added if name.startswith("graph_compiler")}
    assert len(ours) <= MOST_OF_OURS
    assert len(added - ours) <= MOST_OF_OTHERS


@pytest.mark.spark
def test_the_driver_needs_neither_pydantic_nor_mmh3_nor_airflow() -> None:
    loaded = modules_after("import graph_compiler.spark_runtime.main, pipelines.flights")
    assert "pyspark" in loaded
    assert not loaded & {"airflow", "pydantic", "mmh3", "typer", "rich", "yaml"}


@pytest.mark.airflow
def test_collecting_tests_does_not_import_airflow() -> None:
    """Airflow reads its home when it is imported; a test sets its own home first."""
    modules = sorted(f"tests.airflow.{path.stem}" for path in (ROOT / "tests" / "airflow").glob("test_*.py"))
    assert "airflow" not in modules_after(f"import {', '.join(modules)}")
