"""YAML text as a tree of nodes with their places, composed within limits.

    read_tree("name: sales…", "pipelines/sales.yaml")   →   Node

Scalars are those of YAML 1.2 (`on`, `no` and `2013-01-31` are text), and tags are refused. `<<` merges. Aliases count
with their full content before they are expanded, so that a small file cannot become a large one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import NoReturn, TypeAlias

import yaml
import yaml.reader

from graph_compiler.errors import InvalidPipelineError, Problem, SourceLocation
from graph_compiler.options.durations import as_text

Scalar: TypeAlias = str | int | float | bool | None

_NULL = frozenset({"", "~", "null", "Null", "NULL"})
_BOOL = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_INT = re.compile(r"[-+]?[0-9]{1,40}")
_BASED = re.compile(r"0o[0-7]{1,40}|0x[0-9a-fA-F]{1,40}")
_UNCLEAR = re.compile(r"[-+]?(0[0-9]|[0-9]{41})")
"""Numbers with zeros before them, and whole numbers that are too long to be one."""
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
    """A value and its place. `size` counts the nodes below it and itself, `depth` their levels.

    `text` is how an unquoted scalar is written: `1.10` for 1.1.
    """

    place: TextPlace
    value: Scalar | list[Node] | dict[str, Node]
    keys: dict[str, TextPlace] = field(default_factory=dict)
    size: int = 1
    depth: int = 1
    text: str | None = None


class _Composer:
    """Nodes composed from parse events, with the limits checked before the next event is read.

    PyYAML's `compose` is not used: it ends the process at a deeply nested text, takes an alias for its value, and stops
    at the first problem.
    """

    def __init__(self, file: str) -> None:
        self.file = file
        self.problems: list[Problem] = []
        self.anchors: dict[str, Node | None] = {}

    def document(self, text: str) -> Node:
        """Return the only document of a text."""
        self.loader = _Loader(text)
        root: Node | None = None
        while self.loader.check_event():
            if not isinstance(event := self.loader.get_event(), yaml.DocumentStartEvent):
                continue
            if root is not None:
                self.stop("the file has a second document", _place(event), allowed="one pipeline in a file")
            root = self._node(depth=1)
        if root is None:
            self.stop("it is empty", TextPlace(1, 1), allowed="name, sources, steps and sinks")
        if self.problems:
            raise self.refusal()
        return root

    def stop(self, message: str, place: TextPlace, **words: str | None) -> NoReturn:
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

    def _node(self, depth: int) -> Node:
        """Compose the next value, which is inside `depth - 1` collections."""
        event = self.loader.get_event()
        place = _place(event)
        if isinstance(event, yaml.AliasEvent):
            return self._aliased(event.anchor, place)
        self._refuse_tag(event, place)
        if isinstance(event, yaml.ScalarEvent):
            return self._scalar(event, place)
        node = Node(place, {} if isinstance(event, yaml.MappingStartEvent) else [])
        if event.anchor is not None:
            self.anchors[event.anchor] = None
        self._refuse_depth(depth, place)
        if isinstance(node.value, list):
            self._fill_list(node, node.value, depth)
        elif isinstance(node.value, dict):
            self._fill_mapping(node, node.value, depth)
        if event.anchor is not None:
            self.anchors[event.anchor] = node
        return node

    def _scalar(self, event: yaml.ScalarEvent, place: TextPlace) -> Node:
        text = str(event.value)
        node = Node(place, scalar(text), text=text) if event.implicit[0] else Node(place, text)
        if event.anchor is not None:
            self.anchors[event.anchor] = node
        return node

    def _fill_list(self, node: Node, items: list[Node], depth: int) -> None:
        while not self.loader.check_event(yaml.SequenceEndEvent):
            items.append(self._part(node, depth))
        self.loader.get_event()

    def _fill_mapping(self, node: Node, values: dict[str, Node], depth: int) -> None:
        while not self.loader.check_event(yaml.MappingEndEvent):
            key = self._key(node)
            values[key] = self._part(node, depth)
        self.loader.get_event()
        if merged := values.pop(_MERGE, None):
            node.value = {**self._merged(node, merged), **values}

    def _key(self, mapping: Node) -> str:
        event = self.loader.get_event()
        place = _place(event)
        if isinstance(event, yaml.AliasEvent):
            self._aliased(event.anchor, place)
            self.stop("a key is an alias", place, allowed="text")
        self._refuse_tag(event, place)
        if not isinstance(event, yaml.ScalarEvent):
            hint = "a value that begins with {{ must be in quotes"
            self.stop("a key is a list or a mapping", place, allowed="text", hint=hint)
        self._scalar(event, place)
        key = str(event.value)
        if key in mapping.keys:
            first = f"the first is on line {mapping.keys[key].line}"
            hint = f"{_MERGE}: [*a, *b] merges several; {first}" if key == _MERGE else first
            self.note(f"duplicate key '{key}'", place, allowed="each key once", hint=hint)
        mapping.keys[key] = place
        return key

    def _part(self, whole: Node, depth: int) -> Node:
        """Compose a value of a collection, and count it there."""
        place = _place(self.loader.peek_event())
        part = self._node(depth + 1)
        whole.depth = max(whole.depth, part.depth + 1)
        self._refuse_depth(whole.depth, place)
        whole.size += part.size
        if whole.size > MAX_NODES:
            self.stop("it is too large after its aliases are expanded", place, allowed=f"{MAX_NODES} values")
        return part

    def _aliased(self, anchor: str, place: TextPlace) -> Node:
        node = self.anchors.get(anchor)
        if node is None:
            known = "it is inside the value it refers to" if anchor in self.anchors else None
            self.stop(f"alias '*{anchor}' refers to no complete value", place, hint=known)
        return node

    def _merged(self, mapping: Node, merged: Node) -> dict[str, Node]:
        """Return what `<<` brings into a mapping, whose `keys` get the places."""
        place = mapping.keys.pop(_MERGE)
        found: dict[str, Node] = {}
        for part in merged.value if isinstance(merged.value, list) else [merged]:
            if not isinstance(part.value, dict):
                self.note(f"'{_MERGE}' merges something that is not a mapping", place, allowed="mappings")
                continue
            found = {**found, **part.value, **found}
            mapping.keys = {**part.keys, **mapping.keys}
        return found

    def _refuse_depth(self, depth: int, place: TextPlace) -> None:
        if depth > MAX_DEPTH:
            self.stop("it is nested too deeply", place, allowed=f"{MAX_DEPTH} levels")

    def _refuse_tag(self, event: yaml.NodeEvent, place: TextPlace) -> None:
        if event.tag is not None and event.tag != "!":
            tag = event.tag.replace("tag:yaml.org,2002:", "!!")
            self.note(f"YAML tags are not supported: found {tag}", place, allowed="plain values")


def _place(event: yaml.Event) -> TextPlace:
    return TextPlace(event.start_mark.line + 1, event.start_mark.column + 1)


def read_tree(text: str, file: str) -> Node:
    """Read one document; raises InvalidPipelineError, with all duplicate keys at once."""
    composer = _Composer(file)
    if len(text) > MAX_CHARACTERS:
        composer.stop(f"it has {len(text)} characters", TextPlace(1, 1), allowed=f"{MAX_CHARACTERS} at most")
    try:
        return composer.document(text)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = TextPlace(1, 1) if mark is None else TextPlace(mark.line + 1, mark.column + 1)
        words = ", ".join(part for part in (error.context, error.problem) if part)
        composer.stop(f"not valid YAML: {words}", place, hint=_hint(text, place))
    except yaml.reader.ReaderError as error:
        lines = text[: error.position].split("\n")
        message = f"not valid YAML: it contains the character #x{error.character:04x}"
        composer.stop(message, TextPlace(len(lines), len(lines[-1]) + 1), allowed="printable characters")


def _hint(text: str, place: TextPlace) -> str | None:
    lines = text.splitlines()
    near = lines[max(place.line - 2, 0) : place.line]
    if any("\t" in line[: len(line) - len(line.lstrip())] for line in near):
        return "indent with spaces"
    if any("{{" in line or "{%" in line for line in near):
        return "a value that begins with {{ must be in quotes"
    return None


@dataclass(frozen=True, slots=True, repr=False)
class Unclear:
    """A number whose value would lose some of its text: the zeros of 007, or digits beyond the 40th."""

    text: str
    value: int | float

    def __repr__(self) -> str:
        """Return its text, for messages."""
        return self.text

    @property
    def as_number(self) -> str | None:
        """The same number in the form that is accepted; None if a number cannot hold its digits."""
        is_exact = isinstance(self.value, int) or Decimal(self.text) == Decimal(str(self.value))
        return as_text(self.value) if is_exact else None


class WrittenMapping(dict[str, object]):
    """A mapping that keeps how its numbers and booleans are written, where their own text differs."""

    texts: dict[str, str]


class WrittenList(list[object]):
    """A list that keeps the same, by index."""

    texts: dict[int, str]


def plain_tree(node: Node) -> object:
    """Return the value without places: dict, list, text, number, bool or None, and Unclear for some numbers."""
    if isinstance(node.value, dict):
        mapping = WrittenMapping({key: plain_tree(value) for key, value in node.value.items()})
        mapping.texts = {key: text for key, value in node.value.items() if (text := _other_text(value)) is not None}
        return mapping
    if isinstance(node.value, list):
        items = WrittenList(plain_tree(item) for item in node.value)
        items.texts = {at: text for at, item in enumerate(node.value) if (text := _other_text(item)) is not None}
        return items
    if node.text is not None and isinstance(node.value, int | float) and _UNCLEAR.match(node.text):
        return Unclear(node.text, node.value)
    return node.value


def _other_text(node: Node) -> str | None:
    """Return how a number or a boolean is written, None if its value has the same text."""
    is_plain = not isinstance(node.value, bool | int | float) or node.text == as_text(node.value)
    return None if is_plain else node.text


def as_written(found: object) -> object:
    """Return a mapping or a list in which numbers and booleans are what is written: for values that are text."""
    if isinstance(found, WrittenMapping):
        return {key: found.texts.get(key, value) for key, value in found.items()}
    if isinstance(found, WrittenList):
        return [found.texts.get(at, value) for at, value in enumerate(found)]
    return found


def with_all_digits(found: object) -> object:
    """Return a list in which decimal numbers are what is written: for cells, whose columns have types."""
    if not isinstance(found, WrittenList):
        return found
    texts = {at: text for at, text in found.texts.items() if not isinstance(found[at], bool)}
    return [value if _BASED.fullmatch(texts.get(at, "")) else texts.get(at, value) for at, value in enumerate(found)]


def without_other_numbers(found: object) -> object:
    """Return a mapping or a list in which each number that is not written as its text is Unclear: it may be text."""
    if isinstance(found, WrittenMapping):
        return {key: _clear(value, found.texts.get(key)) for key, value in found.items()}
    if isinstance(found, WrittenList):
        return [_clear(value, found.texts.get(at)) for at, value in enumerate(found)]
    return found


def _clear(value: object, text: str | None) -> object:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or text is None or not _loses_digits(text, value):  # type: ignore[arg-type]  # just checked
        return value
    return Unclear(text, value)  # type: ignore[arg-type]  # the same


def _loses_digits(text: str, value: float) -> bool:
    """Whether a number has zeros around it, digits or another base that its value does not show."""
    if _BASED.fullmatch(text):
        return True
    digits = text.lower().partition("e")[0].lstrip("+-")
    has_zeros = re.match("0[0-9]", digits) is not None or ("." in digits and digits.endswith("0"))
    return has_zeros or Decimal(text) != Decimal(str(value))


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
