"""Data contracts: a condition for rows, and what happens if rows violate it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar

from graph_compiler.declaration.operators.base_operator import Operator
from graph_compiler.declaration.operators.known_columns import Known


class OnViolation(StrEnum):
    """What happens to rows for which a condition is not true. TO: they go to a side output."""

    WARN = "warn"
    DROP = "drop"
    FAIL = "fail"
    TO = "to"


@dataclass(frozen=True, slots=True)
class Expect(Operator):
    """A data contract: counts the rows for which `condition` is not true (false, NULL), and acts on them.

    A violated FAIL contract fails the task before any of its results is committed or published.
    """

    default_name: ClassVar[str] = "Expect"
    keeps_order: ClassVar[bool] = True
    contract: str
    condition: str
    on_violation: OnViolation
    tag: str | None = None

    def columns_after(self, inputs: Sequence[Known]) -> Known:
        """Return the columns of its input."""
        return inputs[0]

    def columns_aside(self, inputs: Sequence[Known]) -> Known:
        """Return the same for violating rows."""
        return inputs[0]

    def expressions(self) -> tuple[str, ...]:
        """Return the condition."""
        return (self.condition,)

    def refusing_contract(self) -> str | None:
        """Return its name if it is a FAIL contract."""
        return self.contract if self.on_violation is OnViolation.FAIL else None

    def output_tags(self) -> tuple[str, ...]:
        """Return the tag for violating rows."""
        violating = () if self.tag is None else (self.tag,)
        return (*violating, *self.attributes.output_tags)
