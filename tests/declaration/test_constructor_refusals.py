"""Wrong calls of constructors: TypeError; or, while a module is loaded, noted, with a `Refused` instead."""

import copy
import inspect
import pickle
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path

import pytest

from graph_compiler import (
    Csv,
    InvalidPipelineError,
    Parquet,
    ResourceSpec,
    Schedule,
    Secret,
    SlotSharingGroup,
    StreamExecutionEnvironment,
    TumblingEventTimeWindows,
)
from graph_compiler.declaration.connectors import Connector
from graph_compiler.declaration.refusals.collected import Refused, collecting_refusals
from graph_compiler.projects.pipeline_files import load_pipeline

VALUES = (
    Csv("/in", null_value="NA", options={"sep": ";"}),
    Schedule(cron="@daily", start=date(2026, 1, 1)),
    Secret("db"),
    SlotSharingGroup("big", driver_memory="2g"),
    ResourceSpec(cpu_cores=1, memory="2g"),
    TumblingEventTimeWindows("at", "1 hour"),
)


def test_a_wrong_call_raises_where_nothing_is_collected() -> None:
    with pytest.raises(TypeError, match="nullvalue"):
        Csv("/in", nullvalue="NA")  # type: ignore[call-arg]


@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
def test_a_wrong_call_is_noted_with_its_line(value: object) -> None:
    kind: Callable[..., object] = type(value)
    with collecting_refusals() as problems:
        made = kind(odd=1)
    assert isinstance(made, Refused)
    (problem,) = problems
    assert problem.message == f"{kind.__name__} has no parameter 'odd'"
    assert problem.declared_at is not None
    assert problem.declared_at.file == __file__


@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
def test_values_are_copied_as_before_while_calls_are_noted(value: object) -> None:
    with collecting_refusals() as problems:
        copies = [copy.deepcopy(value), pickle.loads(pickle.dumps(value)), replace(value)]  # type: ignore[type-var]
    assert copies == [value] * 3
    assert not problems


def test_a_constructor_shows_what_it_takes() -> None:
    assert list(inspect.signature(Secret).parameters) == ["conn_id", "field"]


def test_a_connector_may_have_an_abstract_base() -> None:
    class Closing(ABC):
        @abstractmethod
        def close(self) -> None: ...

    @dataclass(frozen=True, slots=True)
    class Own(Connector, Closing):
        path: str

        def close(self) -> None: ...

    assert Own("/in").path == "/in"


def test_a_call_with_a_refused_value_is_refused_and_reported_once() -> None:
    with collecting_refusals() as problems:
        env = StreamExecutionEnvironment("p", schedule=Schedule(corn="@daily"))  # type: ignore[call-arg]
        options = {"token": Secret(connection="db")}  # type: ignore[call-arg]
        env.from_source(Csv("/in", options=options), "orders").sink_to(Parquet("/out"))
    assert [problem.message for problem in problems] == [
        "Schedule has no parameter 'corn'",
        "Secret has no parameter 'connection'",
    ]
    assert env.refused == problems, "its module is imported once and may be asked for again"
    assert env.pipeline().schedule is None


def test_a_refused_value_of_a_module_that_was_loaded_before_is_refused_again() -> None:
    with collecting_refusals():
        orders = Csv("/in", nullvalue="NA")  # type: ignore[call-arg]
    env = StreamExecutionEnvironment("p")
    with pytest.raises(InvalidPipelineError, match="no parameter 'nullvalue'"):
        env.from_source(orders, "orders")


def test_an_unused_connector_is_reported_each_time_its_module_is_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    file = tmp_path / "unused_connector_of_a_test.py"
    file.write_text(
        "from graph_compiler import Csv, Parquet, StreamExecutionEnvironment\n"
        "env = StreamExecutionEnvironment('p')\n"
        "env.from_source(Csv('/in'), 'a').sink_to(Parquet('/out'))\n"
        "unused = Csv('/in', nullvalue='NA')\n"
    )
    for _ in range(2):
        with pytest.raises(InvalidPipelineError, match="no parameter 'nullvalue'"):
            load_pipeline(str(file))
    sys.modules.pop(file.stem)
