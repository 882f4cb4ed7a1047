"""Fixtures for pytest: `spark`, `pipeline_run`, `compiled_plan`.

Installed with pip, pytest finds it by itself; where the package lies in plugins/, say so in the outermost conftest.py:

    pytest_plugins = ["graph_compiler.testing.pytest_plugin"]

pytest loads this in every run, so neither Spark nor the compiler is imported before a fixture is used. A fixture
`spark` of your own takes the place of this one.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from graph_compiler.declaration.environment import StreamExecutionEnvironment
    from graph_compiler.declaration.pipeline import Pipeline
    from graph_compiler.spark_runtime.rehearsal.local_session import Session
    from graph_compiler.testing.compiled_plan import CompiledPlan
    from graph_compiler.testing.pipeline_result import PipelineResult


SHORT_LIVED = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""Options of a JVM that computes little: what the second compiler would make faster has ended before it is done."""


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    """Yield the Spark session that runs already, else a local one with two cores, for all tests."""
    from graph_compiler.spark_runtime.rehearsal.local_session import local_session

    settings = {
        "spark.driver.extraJavaOptions": SHORT_LIVED,
        # Of tables that tests leave nobody knows afterwards, nor another process that runs tests beside this one.
        "spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse")),
    }
    with local_session(settings) as session:
        yield session
    # py4j says goodbye when the interpreter ends, to a stream pytest has closed by then
    logging.getLogger("py4j").setLevel(logging.WARNING)


@pytest.fixture
def pipeline_run(spark: Session) -> Callable[..., PipelineResult]:
    """Run pipelines on rows: `pipeline_run(env, sources={"flights": [{…}]}, params=…, day=…, until=…)`."""
    from graph_compiler.testing.mini_cluster import MiniCluster

    return MiniCluster(spark).run


@pytest.fixture
def compiled_plan() -> Callable[[StreamExecutionEnvironment | Pipeline], CompiledPlan]:
    """Compile pipelines, to hold their plans to what is expected: `compiled_plan(env).assert_staged("a", "b")`."""
    from graph_compiler.testing.compiled_plan import CompiledPlan

    return CompiledPlan.of
