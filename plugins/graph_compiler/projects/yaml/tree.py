"""YAML text as a tree of nodes with their places, built from parse events within limits.

    read_tree("name: sales…", "pipelines/sales.yaml")   →   Node

Scalars are those of YAML 1.2 (`on`, `no` and `2013-01-31` are text), and tags are refused. `<<` merges. Aliases count
with their full content before they are expanded, so that a small file cannot become a large one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

import yaml
import yaml.reader

from graph_compiler.errors import InvalidPipelineError, Problem, SourceLocation

Scalar: TypeAlias = str | int | float | bool | None

_NULL = frozenset({"", "~", "null", "Null", "NULL"})
_BOOL = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_INT = re.compile(r"[-+]?[0-9]{1,40}")
_BASED = re.compile(r"0o[0-7]{1,40}|0x[0-9a-fA-F]{1,40}")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]{1,3})?")


def scalar(text: str) -> Scalar:
    """Return the value of an unquoted scalar. Infinities and NaN stay text, since no parameter or option may be one."""
    if text in _NULL:
        return None
    if text in _BOOL:
        return _BOOL[text]
    if _INT.fullmatch(text):
        return int(text)
    if _BASED.fullmatch(text):
        return int(text, base=0)
    if _FLOAT.fullmatch(text):
        number = float(text)
        return text if number in (float("inf"), float("-inf")) else number
    return text


MAX_CHARACTERS = 1_000_000
MAX_DEPTH = 40
MAX_NODES = 50_000
"""The maximum number of nodes in a file after each alias is replaced by its content."""
MAX_PROBLEMS = 100
"""The number of problems reported for one file: more of them are usually one mistake in many places."""
_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_MERGE = "<<"


@dataclass(frozen=True, slots=True, order=True)
class TextPlace:
    """A line and a column, both counted from 1."""

    line: int
    column: int


@dataclass(slots=True)
class Node:
    """A value and its place. `size` counts the nodes below it and itself, `depth` their levels."""

    place: TextPlace
    value: Scalar | list[Node] | dict[str, Node]
    keys: dict[str, TextPlace] = field(default_factory=dict)
    size: int = 1
    depth: int = 1


@dataclass(slots=True)
class _Open:
    """A collection that has not ended yet."""

    node: Node
    anchor: str | None
    key: str | None = None
    is_key_next: bool = True


class _Builder:
    def __init__(self, file: str) -> None:
        self.file = file
        self.problems: list[Problem] = []
        self.anchors: dict[str, Node | None] = {}
        self.open: list[_Open] = []
        self.root: Node | None = None

    def take(self, event: yaml.Event) -> None:
        place = TextPlace(event.start_mark.line + 1, event.start_mark.column + 1)
        match event:
            case yaml.AliasEvent():
                self._put(self._aliased(event.anchor, place), place)
            case yaml.ScalarEvent():
                self._refuse_tag(event, place)
                value = scalar(event.value) if event.implicit[0] else str(event.value)
                self._begin(Node(place, value), event.anchor, text=event.value)
            case yaml.MappingStartEvent() | yaml.SequenceStartEvent():
                self._refuse_tag(event, place)
                kind = dict if isinstance(event, yaml.MappingStartEvent) else list
                self._begin(Node(place, kind()), event.anchor)
            case yaml.MappingEndEvent() | yaml.SequenceEndEvent():
                self._end()
            case yaml.DocumentStartEvent() if self.root is not None:
                self.stop("the file has a second document", place, allowed="one pipeline in a file")

    def stop(self, message: str, place: TextPlace, **words: str | None) -> None:
        """Refuse the file at once, since the rest could not be understood, or would cost too much."""
        self.note(message, place, **words)
        raise self.refusal()

    def note(self, message: str, place: TextPlace, **words: str | None) -> None:
        location = SourceLocation(self.file, place.line)
        self.problems.append(Problem(message=message, declared_at=location, column=place.column, **words))
        if len(self.problems) >= MAX_PROBLEMS:
            raise self.refusal()

    def refusal(self) -> InvalidPipelineError:
        """Return all recorded problems; an unreadable pipeline has only the file's name."""
        return InvalidPipelineError(Path(self.file).stem, self.problems)

    def _begin(self, node: Node, anchor: str | None, text: str | None = None) -> None:
        is_scalar = text is not None
        if anchor is not None:
            self.anchors[anchor] = node if is_scalar else None
        parent = self.open[-1] if self.open else None
        if parent is not None and isinstance(parent.node.value, dict) and parent.is_key_next:
            if text is None:
                self.stop(
                    "a key is a list or a mapping",
                    node.place,
                    allowed="text",
                    hint="a value that begins with {{ must be in quotes",
                )
            else:
                parent.key, parent.is_key_next = text, False
                self._name(parent.node, text, node.place)
            return
        if is_scalar:
            self._put(node, node.place)
            return
        self.open.append(_Open(node, anchor))
        self._refuse_depth(len(self.open), node.place)

    def _name(self, mapping: Node, key: str, place: TextPlace) -> None:
        if key in mapping.keys:
            first = f"the first is on line {mapping.keys[key].line}"
            hint = f"{_MERGE}: [*a, *b] merges several; {first}" if key == _MERGE else first
            self.note(f"duplicate key '{key}'", place, allowed="each key once", hint=hint)
        mapping.keys[key] = place

    def _end(self) -> None:
        done = self.open.pop()
        if isinstance(done.node.value, dict):
            self._merge(done.node)
        if done.anchor is not None:
            self.anchors[done.anchor] = done.node
        self._put(done.node, done.node.place)

    def _put(self, node: Node, place: TextPlace) -> None:
        if not self.open:
            self.root = node
            return
        parent = self.open[-1]
        value = parent.node.value
        if isinstance(value, list):
            value.append(node)
        elif isinstance(value, dict):
            if parent.is_key_next:
                self.stop("a key is an alias", place, allowed="text")
            value[str(parent.key)] = node
            parent.is_key_next = True
        parent.node.depth = max(parent.node.depth, node.depth + 1)
        self._refuse_depth(parent.node.depth, place)
        parent.node.size += node.size
        if parent.node.size > MAX_NODES:
            self.stop("it is too large after its aliases are expanded", place, allowed=f"{MAX_NODES} values")

    def _aliased(self, anchor: str, place: TextPlace) -> Node:
        node = self.anchors.get(anchor)
        if node is None:
            known = "it is inside the value it refers to" if anchor in self.anchors else None
            self.stop(f"alias '*{anchor}' refers to no complete value", place, hint=known)
        assert node is not None
        return node

    def _merge(self, mapping: Node) -> None:
        own = mapping.value
        assert isinstance(own, dict)
        merged = own.pop(_MERGE, None)
        if merged is None:
            return
        place = mapping.keys.pop(_MERGE)
        parts = merged.value if isinstance(merged.value, list) else [merged]
        found: dict[str, Node] = {}
        for part in parts:
            if not isinstance(part.value, dict):
                self.note(f"'{_MERGE}' merges something that is not a mapping", place, allowed="mappings")
                continue
            found |= {key: node for key, node in part.value.items() if key not in found}
            mapping.keys = {**part.keys, **mapping.keys}
        mapping.value = {**found, **own}

    def _refuse_depth(self, depth: int, place: TextPlace) -> None:
        if depth > MAX_DEPTH:
            self.stop("it is nested too deeply", place, allowed=f"{MAX_DEPTH} levels")

    def _refuse_tag(self, event: yaml.NodeEvent, place: TextPlace) -> None:
        if event.tag is not None and event.tag != "!":
            tag = event.tag.replace("tag:yaml.org,2002:", "!!")
            self.note(f"YAML tags are not supported: found {tag}", place, allowed="plain values")


def read_tree(text: str, file: str) -> Node:
    """Read one document; raises InvalidPipelineError, with all duplicate keys at once."""
    builder = _Builder(file)
    if len(text) > MAX_CHARACTERS:
        builder.stop(f"it has {len(text)} characters", TextPlace(1, 1), allowed=f"{MAX_CHARACTERS} at most")
    try:
        for event in _events(text):
            builder.take(event)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = TextPlace(1, 1) if mark is None else TextPlace(mark.line + 1, mark.column + 1)
        words = ", ".join(part for part in (error.context, error.problem) if part)
        builder.stop(f"not valid YAML: {words}", place, hint=_hint(text, place))
    except yaml.reader.ReaderError as error:
        lines = text[: error.position].split("\n")
        message = f"not valid YAML: it contains the character #x{error.character:04x}"
        builder.stop(message, TextPlace(len(lines), len(lines[-1]) + 1), allowed="printable characters")
    if builder.root is None:
        builder.stop("it is empty", TextPlace(1, 1), allowed="name, sources, steps and sinks")
    assert builder.root is not None
    if builder.problems:
        raise builder.refusal()
    return builder.root


def _events(text: str) -> Iterator[yaml.Event]:
    loader = _Loader(text)
    try:
        while loader.check_event():
            yield loader.get_event()
    finally:
        loader.dispose()


def _hint(text: str, place: TextPlace) -> str | None:
    lines = text.splitlines()
    near = lines[max(place.line - 2, 0) : place.line]
    if any("\t" in line[: len(line) - len(line.lstrip())] for line in near):
        return "indent with spaces"
    if any("{{" in line or "{%" in line for line in near):
        return "a value that begins with {{ must be in quotes"
    return None


def plain_tree(node: Node) -> object:
    """Return the value without places: dict, list, text, number, bool or None."""
    if isinstance(node.value, dict):
        return {key: plain_tree(value) for key, value in node.value.items()}
    if isinstance(node.value, list):
        return [plain_tree(item) for item in node.value]
    return node.value


def node_at(node: Node, path: tuple[str | int, ...]) -> Node | None:
    """Return the node at the end of `path`, None if there is none."""
    for part in path:
        if isinstance(node.value, dict) and part in node.value:
            node = node.value[str(part)]
        elif isinstance(node.value, list) and isinstance(part, int) and part < len(node.value):
            node = node.value[part]
        else:
            return None
    return node


def place_of(node: Node, path: tuple[str | int, ...]) -> TextPlace:
    """Return the place of the key at the end of `path`, or the nearest existing one above it."""
    place = node.place
    for part in path:
        if isinstance(node.value, dict) and part in node.value:
            place, node = node.keys[str(part)], node.value[str(part)]
        elif isinstance(node.value, list) and isinstance(part, int) and part < len(node.value):
            node = node.value[part]
            place = node.place
        else:
            break
    return place


def written_at(path: tuple[str | int, ...]) -> str:
    """Return a path as text: `("steps", 2, "filter")` → `steps[2].filter`."""
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return text.removeprefix(".")
