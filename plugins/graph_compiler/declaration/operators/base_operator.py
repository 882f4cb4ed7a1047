"""What all operators have in common, and what the compiler must know of each kind."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import ClassVar

from graph_compiler.declaration.coordination import (
    CoordinatorKind,
    InputSplitSource,
    MasterHook,
)
from graph_compiler.declaration.functions import FunctionRef
from graph_compiler.errors import Problem
from graph_compiler.extensions import Extensible


class ChainingStrategy(StrEnum):
    """Whether an operator may join the chain of its input (Flink's noun)."""

    ALWAYS = "ALWAYS"
    NEVER = "NEVER"
    HEAD = "HEAD"
    HEAD_WITH_SOURCES = "HEAD_WITH_SOURCES"


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorAttributes:
    """What the compiler must know of an operator beyond its kind; Flink asks the operator's factory.

    `is_yielding`: it may wait in the middle of a row (async, a sink's writer), so no legacy source may drive it.
    `outputs_only_after_end`: nothing comes out before all input is in, so a pipelined consumer would wait idly.
    `sorts_input`: it sorts keyed input itself, so a batch job need not.
    `output_tags`: the side outputs its function may give.
    """

    is_yielding: bool = False
    outputs_only_after_end: bool = False
    sorts_input: bool = False
    output_tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Operator(Extensible):
    """Common shape; the leaves are the kinds. Properties of a kind stand here, so that nobody asks for its class."""

    entry_points: ClassVar[str] = "graph_compiler.operators"
    default_name: ClassVar[str]
    chaining_strategy: ClassVar[ChainingStrategy] = ChainingStrategy.ALWAYS
    has_factory: ClassVar[bool] = True
    """Whether Flink makes it from an operator factory; what has none is never chained."""
    distributes_itself: ClassVar[bool] = True
    """Whether Spark's own exchange brings rows of one key together for it; false for functions of the user's."""
    gathers: ClassVar[bool] = False
    """Whether Spark brings all its rows into one partition by itself, as late as it can."""
    is_non_parallel: ClassVar[bool] = False
    """Whether it has one subtask and can have no other number (Flink's `forceNonParallel`)."""
    attributes: OperatorAttributes = field(default=OperatorAttributes(), kw_only=True)

    def expressions(self) -> tuple[str, ...]:
        """Return every piece of SQL text in it, where Jinja is refused and `:name` is a parameter."""
        return ()

    def functions(self) -> tuple[FunctionRef, ...]:
        """Return the user's functions it calls."""
        return ()

    def bound_parameters(self) -> tuple[str, ...]:
        """Return the parameters it is given beside those in its expressions."""
        return ()

    def output_tags(self) -> tuple[str, ...]:
        """Return the tags of its side outputs."""
        return self.attributes.output_tags

    def master_hooks(self) -> tuple[MasterHook, ...]:
        """Return what the driver sees to for it before any data moves."""
        return ()

    def coordinator(self) -> CoordinatorKind | None:
        """Return who looks after it on the driver."""
        return None

    def input_split_source(self) -> InputSplitSource | None:
        """Return what may know the parts it reads."""
        return None

    def problems(self) -> Iterator[Problem]:
        """Yield the problems of its fields; the caller knows which operator it is (`checked.problems_at`)."""
        yield from ()

    def refusing_contract(self) -> str | None:
        """Return the name of the contract it holds rows against, if a violation fails the task."""
        return None

    def copies_what_it_reads(self) -> bool:
        """Whether it only writes its input into files: then staging that input would write it twice."""
        return False

    def why_unrepeatable(self) -> str | None:
        """Say why computing it again from the same rows may give others, None if it gives the same (decision 9)."""
        return None
