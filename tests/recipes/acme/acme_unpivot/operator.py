"""What users declare: nothing here imports pyspark."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from graph_compiler.extending import Operator, Problem


@dataclass(frozen=True, slots=True)
class Unpivot(Operator):
    """Returns a row for each of `columns`: its name in `names`, its value in `values`, beside the other columns."""

    spark_modules: ClassVar[tuple[str, ...]] = ("acme_unpivot.spark",)
    default_name: ClassVar[str] = "Unpivot"
    columns: tuple[str, ...]
    names: str = "name"
    values: str = "value"

    def problems(self) -> Iterator[Problem]:
        """Yield missing columns."""
        if not self.columns:
            yield Problem(message="it names no columns", allowed="names of columns, at least one")
