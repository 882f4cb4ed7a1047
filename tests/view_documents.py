"""`web/src/documents.ts`: the documents the view reads, as TypeScript, made from the dataclasses the server writes.

python -m tests.view_documents      (`make web` runs it first)

class ViewStreamEdge:                       export interface StreamEdge {
id: str                             →     id: string
output_tag: str | None                    output_tag: string | null
"""

from __future__ import annotations

import inspect
import types
from dataclasses import fields, is_dataclass
from enum import Enum
from pathlib import Path
from typing import Any, Union, get_args, get_origin, get_type_hints

from graph_compiler.explain.diff.plan_changes import PlanDiff
from graph_compiler.explain.documents.plain_json import EXPLAIN_ONLY
from graph_compiler.explain.documents.view_answers import (
    Cell,
    PipelineList,
    PlacedPipelines,
    RowSample,
    RunList,
    StagedResult,
    VersionList,
)
from graph_compiler.explain.documents.view_run import ViewRun
from graph_compiler.explain.plan.plan import Plan

TARGET = Path(__file__).parents[1] / "web" / "src" / "documents.ts"
HEADER = """\
/* eslint max-lines: off -- one file for all documents, and nobody writes it */
/**
 * The documents the server writes. Null is "not known" or "none"; times are seconds since the epoch.
 * Made from Python's dataclasses by tests/view_documents.py (`make web`); do not change it by hand.
 */
"""
DOCUMENTS = (Plan, ViewRun, PipelineList, PlacedPipelines, RunList, VersionList, PlanDiff, StagedResult, RowSample)
"""What the routes answer; what they hold follows by itself."""
NAMED_UNIONS = {"Cell": Cell}
BESIDE: dict[type, dict[str, str]] = {PlanDiff: {"summary": "string"}}
"""Keys that a document has beside its dataclass: `diff_json` puts the line for a pull request in front."""
PLAIN = {str: "string", int: "number", float: "number", bool: "boolean", type(None): "null"}


def type_name(kind: type) -> str:
    """Return an interface's name: the class's, `View` and `Plan` left out unless it is a whole document."""
    if kind in DOCUMENTS:
        return "ViewPlan" if kind is Plan else kind.__name__
    return kind.__name__.removeprefix("View" if kind.__module__ != Plan.__module__ else "Plan")


class Declarations:
    """The declarations so far by name, in the order of their first use."""

    def __init__(self) -> None:
        self.classes: dict[str, type] = {}
        self.texts: dict[str, str] = {}

    def type_text(self, kind: Any) -> str:
        """Return a type as TypeScript, its declaration noted; raises TypeError for one that has none."""
        origin, items = get_origin(kind), get_args(kind)
        if origin in (Union, types.UnionType):
            names = [name for name, union in NAMED_UNIONS.items() if union == kind]
            return self._named_union(names[0], kind) if names else self._union(items)
        return self._tuple(items) if origin is tuple else self._single(kind)

    def _single(self, kind: Any) -> str:
        plain = getattr(kind, "__supertype__", kind)  # a NewType is its supertype in a document
        if plain in PLAIN:
            return PLAIN[plain]
        if isinstance(kind, type) and issubclass(kind, Enum) and _is_in_words(kind):
            return "string"
        if isinstance(kind, type) and (is_dataclass(kind) or issubclass(kind, Enum)):
            return self._declared(kind)
        raise TypeError(f"{kind!r} is nothing that TypeScript is told of")

    def _tuple(self, items: tuple[Any, ...]) -> str:
        if items[1:] != (...,):
            return f"[{', '.join(map(self.type_text, items))}]"
        item = self.type_text(items[0])
        return f"({item})[]" if " | " in item and not item.startswith("[") else f"{item}[]"

    def _union(self, items: tuple[Any, ...]) -> str:
        return " | ".join(dict.fromkeys(map(self.type_text, items)))

    def _named_union(self, name: str, union: Any) -> str:
        if name not in self.texts:
            self.texts[name] = ""
            self.texts[name] = f"export type {name} = {self._union(get_args(union))}\n"
        return name

    def _declared(self, kind: type) -> str:
        name = type_name(kind)
        if self.classes.setdefault(name, kind) is not kind:
            raise TypeError(f"{kind.__module__} and {self.classes[name].__module__} have a {name}")
        if name not in self.texts:
            self.texts[name] = ""  # its place, before those it holds
            self.texts[name] = _enum(kind, name) if issubclass(kind, Enum) else self._interface(kind)
        return name

    def _interface(self, kind: type) -> str:
        hints = get_type_hints(kind)
        lines = [f"  {key}: {text}" for key, text in BESIDE.get(kind, {}).items()]
        written = [field.name for field in fields(kind) if EXPLAIN_ONLY not in field.metadata]
        lines += [f"  {name}: {self.type_text(hints[name])}" for name in written]
        body = "\n".join(lines)
        return f"{_comment(kind)}export interface {type_name(kind)} {{\n{body}\n}}\n"


def _is_in_words(kind: type[Enum]) -> bool:
    """Whether the members are sentences: plans of earlier versions have others."""
    return any(" " in str(member.value) for member in kind)


def _enum(kind: type[Enum], name: str) -> str:
    values = " | ".join(_quoted(str(member.value)) for member in kind)
    return f"{_comment(kind)}export type {name} = {values}\n"


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _comment(kind: type) -> str:
    lines = (inspect.getdoc(kind) or "").replace("None", "null").splitlines()
    if len(lines) == 1:
        return f"/** {lines[0]} */\n"
    return "".join(["/**\n", *(f" * {line}".rstrip() + "\n" for line in lines), " */\n"])


def view_documents() -> str:
    """Return the file."""
    declarations = Declarations()
    for kind in DOCUMENTS:
        declarations.type_text(kind)
    return "\n".join([HEADER, *declarations.texts.values()])


if __name__ == "__main__":
    TARGET.write_text(view_documents())
