"""A graph for any renderer: nodes in groups, and labeled edges, as values."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby


@dataclass(frozen=True, slots=True, kw_only=True)
class PictureNode:
    """One box: `words` is its name, then its settings; `group` is an index in `Picture.groups`."""

    id: str
    words: tuple[str, ...]
    group: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    """One arrow: how rows move, and in `reason` why it is staged, None if it is not."""

    source: str
    target: str
    words: tuple[str, ...]
    reason: str | None
    is_staged: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """A whole graph; nodes are ordered by group, edges by target and input."""

    title: str
    groups: tuple[str, ...]
    nodes: tuple[PictureNode, ...]
    edges: tuple[Edge, ...]


def dot(picture: Picture) -> str:
    """Return the text of a digraph."""
    return "\n".join(_dot_lines(picture))


def _dot_lines(picture: Picture) -> Iterator[str]:
    ids = {node.id: f"n{number}" for number, node in enumerate(picture.nodes)}
    yield f"digraph {_dot_quoted((picture.title,))} {{"
    yield f"  label={_dot_quoted((picture.title,))} labelloc=t fontname=Helvetica"
    yield "  node [shape=box style=rounded fontname=Helvetica]"
    yield "  edge [fontname=Helvetica fontsize=10]"
    for group, nodes in groupby(picture.nodes, key=lambda node: node.group):
        yield f"  subgraph cluster_{group} {{"
        yield f"    label={_dot_quoted((picture.groups[group],))}"
        for node in nodes:
            yield f"    {ids[node.id]} [label={_dot_quoted(node.words)}]"
        yield "  }"
    for edge in picture.edges:
        words = (" · ".join(edge.words), *([edge.reason] if edge.reason else []))
        bold = " style=bold" if edge.is_staged else ""
        yield f"  {ids[edge.source]} -> {ids[edge.target]} [label={_dot_quoted(words)}{bold}]"
    yield "}"


def _dot_quoted(lines: tuple[str, ...]) -> str:
    """Return a quoted label of several lines; an unescaped backslash would start one of Graphviz's escapes."""
    label = "\n".join(lines).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{label}"'


_ENTITIES = {"#": "#35;", '"': "#quot;", "<": "#lt;", ">": "#gt;", "`": "#96;", "\n": "<br/>"}


def mermaid(picture: Picture) -> str:
    """Return the text of a diagram."""
    return "\n".join(_mermaid_lines(picture))


def _mermaid_lines(picture: Picture) -> Iterator[str]:
    ids = {node.id: f"n{number}" for number, node in enumerate(picture.nodes)}
    yield "---"
    yield f"title: {_mermaid_quoted((picture.title,))}"
    yield "---"
    yield "flowchart TB"
    for group, nodes in groupby(picture.nodes, key=lambda node: node.group):
        yield f"  subgraph g{group}[{_mermaid_quoted((picture.groups[group],))}]"
        for node in nodes:
            yield f"    {ids[node.id]}[{_mermaid_quoted(node.words)}]"
        yield "  end"
    for edge in picture.edges:
        arrow = "==>" if edge.is_staged else "-->"
        words = (" · ".join(edge.words), *([edge.reason] if edge.reason else []))
        yield f"  {ids[edge.source]} {arrow}|{_mermaid_quoted(words)}| {ids[edge.target]}"


def _mermaid_quoted(lines: tuple[str, ...]) -> str:
    """Return a quoted label, with entities for characters that have a meaning in Mermaid."""
    label = "".join(_ENTITIES.get(letter, letter) for letter in "\n".join(lines))
    return f'"{label}"'


def picture_text(picture: Picture) -> str:
    """Return the picture as lines of text."""
    return "\n".join(_text_lines(picture))


def _text_lines(picture: Picture) -> Iterator[str]:
    names = {node.id: node.words[0] for node in picture.nodes}
    arriving: dict[str, list[Edge]] = {node.id: [] for node in picture.nodes}
    for edge in picture.edges:
        arriving[edge.target].append(edge)
    yield picture.title
    for group, nodes in groupby(picture.nodes, key=lambda node: node.group):
        yield ""
        yield picture.groups[group]
        for node in nodes:
            name, *settings = node.words
            yield f"  {name}" + (f"    [{', '.join(settings)}]" if settings else "")
            for edge in arriving[node.id]:
                yield f"    ◀─ {' · '.join((names[edge.source], *edge.words))}"
                if edge.reason:
                    yield f"       {edge.reason}"
