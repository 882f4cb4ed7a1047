"""Every declared value that can be invalid has `problems()`; functions here add the operator to each problem.

    list(Sample(2).problems())                  →  [Problem(message="its fraction is 2, not between 0 and 1", …)]
    list(problems_at(operator, operator.operator))  →  the same, with the operator's name and its line

These checks need only the standard library. Checks that need a package (cron expressions, JSON Schemas) are functions
of the same form in `options`: `schedule_problems`, `default_problems`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Protocol, runtime_checkable

from graph_compiler.errors import Problem, SourceLocation


@runtime_checkable
class Checked(Protocol):
    """A value that finds its own problems; it does not know which operator it belongs to."""

    def problems(self) -> Iterator[Problem]:
        """Yield every problem of the value itself; its message continues a sentence that starts with the operator."""
        ...


class Declared(Protocol):
    """A transformation or an operator's descriptor: it has a name and a line."""

    @property
    def name(self) -> str:
        """The operator's name."""
        ...

    @property
    def declared_at(self) -> SourceLocation | None:
        """Where it was declared."""
        ...


def problems_at(declared: Declared, value: Checked) -> Iterator[Problem]:
    """Yield the problems of a value, with the name and the line of its operator."""
    for problem in value.problems():
        yield located(declared, problem)


def located(declared: Declared, problem: Problem) -> Problem:
    """Return a problem with its operator's name and line."""
    return replace(problem, operator=declared.name, declared_at=declared.declared_at)
