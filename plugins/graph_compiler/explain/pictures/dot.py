"""A picture in Graphviz's language: `dot -Tsvg` draws it. Staged edges are bold."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from graph_compiler.explain.pictures.picture import Picture


def dot(picture: Picture) -> str:
    """Return the text of a digraph."""
    return "\n".join(_lines(picture))


def _lines(picture: Picture) -> Iterator[str]:
    ids = {node.id: f"n{number}" for number, node in enumerate(picture.nodes)}
    yield f"digraph {_quoted((picture.title,))} {{"
    yield f"  label={_quoted((picture.title,))} labelloc=t fontname=Helvetica"
    yield "  node [shape=box style=rounded fontname=Helvetica]"
    yield "  edge [fontname=Helvetica fontsize=10]"
    for group, nodes in groupby(picture.nodes, key=lambda node: node.group):
        yield f"  subgraph cluster_{group} {{"
        yield f"    label={_quoted((picture.groups[group],))}"
        for node in nodes:
            yield f"    {ids[node.id]} [label={_quoted(node.words)}]"
        yield "  }"
    for edge in picture.edges:
        words = (" · ".join(edge.words), *([edge.reason] if edge.reason else []))
        bold = " style=bold" if edge.is_staged else ""
        yield f"  {ids[edge.source]} -> {ids[edge.target]} [label={_quoted(words)}{bold}]"
    yield "}"


def _quoted(lines: tuple[str, ...]) -> str:
    """Write a label of several lines: a backslash would begin one of Graphviz's own signs."""
    label = "\n".join(lines).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{label}"'
