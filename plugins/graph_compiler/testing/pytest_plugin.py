"""Fixtures for pytest: `spark`, `pipeline_run`, `compiled_plan`.

If the package is installed with pip, pytest finds the plugin. If it is in plugins/, the outermost conftest.py names it:

    pytest_plugins = ["graph_compiler.testing.pytest_plugin"]

pytest loads this module in every run, so it imports neither Spark nor the compiler before a fixture is used. Your own
fixture `spark` replaces this one.
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


SHORT_LIVED = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:ReservedCodeCacheSize=240m"
"""Options of a JVM for short jobs, which end before the code of the second compiler would pay off.

With one compiler, Java reserves 48 MB for compiled code, and a thousand tests of one session fill them: from then on it
throws code away and compiles it again. 240 MB is its default for two compilers.
"""


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    """Yield the running Spark session, or a local one with two cores, for all tests."""
    from graph_compiler.spark_runtime.rehearsal.local_session import local_session

    settings = {
        "spark.driver.extraJavaOptions": SHORT_LIVED,
        "spark.ui.showConsoleProgress": "false",  # pytest would show it with a failed test
        # Tables that tests leave behind are not visible later, nor to another process that runs tests in parallel.
        "spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse")),
    }
    with local_session(settings) as session:
        yield session
    # py4j logs when the interpreter exits, to a stream that pytest has already closed
    logging.getLogger("py4j").setLevel(logging.WARNING)


@pytest.fixture
def pipeline_run(spark: Session) -> Callable[..., PipelineResult]:
    """Run pipelines on rows: `pipeline_run(env, sources={"flights": [{…}]}, params=…, day=…, until=…)`."""
    from graph_compiler.testing.mini_cluster import MiniCluster

    return MiniCluster(spark).run


@pytest.fixture
def compiled_plan() -> Callable[[StreamExecutionEnvironment | Pipeline], CompiledPlan]:
    """Compile pipelines, to check their plans: `compiled_plan(env).assert_staged("a", "b")`."""
    from graph_compiler.testing.compiled_plan import CompiledPlan

    return CompiledPlan.of
