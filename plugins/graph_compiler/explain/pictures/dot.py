"""A picture in Graphviz's language, which `dot -Tsvg` draws. Staged edges are bold."""

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
    """Return a quoted label of several lines; an unescaped backslash would start one of Graphviz's escapes."""
    label = "\n".join(lines).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{label}"'
