"""Flink's ends of an iteration. They compile as in Flink but cannot be deployed; Spark can run `iterate(…)`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from graph_compiler.declaration.operators.base_operator import Operator

INSTEAD_OF_ITERATIONS = (
    "iterate(step, max_iterations=…) applies a function to its own result, which Spark can run"
)


@dataclass(frozen=True, slots=True)
class IterationHead(Operator):
    """Where rows that flow back enter the graph; created by the compiler."""

    default_name: ClassVar[str] = "IterationSource"
    has_factory: ClassVar[bool] = False


@dataclass(frozen=True, slots=True)
class IterationTail(Operator):
    """Where rows that flow back leave the graph; created by the compiler."""

    default_name: ClassVar[str] = "IterationSink"
    has_factory: ClassVar[bool] = False
