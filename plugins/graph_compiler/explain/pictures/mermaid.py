"""A picture as a Mermaid flowchart, which GitHub, GitLab and most editors draw. Staged edges are thick."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from graph_compiler.explain.pictures.picture import Picture

_ENTITIES = {"#": "#35;", '"': "#quot;", "<": "#lt;", ">": "#gt;", "`": "#96;", "\n": "<br/>"}


def mermaid(picture: Picture) -> str:
    """Return the text of a diagram."""
    return "\n".join(_lines(picture))


def _lines(picture: Picture) -> Iterator[str]:
    ids = {node.id: f"n{number}" for number, node in enumerate(picture.nodes)}
    yield "---"
    yield f"title: {_quoted((picture.title,))}"
    yield "---"
    yield "flowchart TB"
    for group, nodes in groupby(picture.nodes, key=lambda node: node.group):
        yield f"  subgraph g{group}[{_quoted((picture.groups[group],))}]"
        for node in nodes:
            yield f"    {ids[node.id]}[{_quoted(node.words)}]"
        yield "  end"
    for edge in picture.edges:
        arrow = "==>" if edge.is_staged else "-->"
        words = (" · ".join(edge.words), *([edge.reason] if edge.reason else []))
        yield f"  {ids[edge.source]} {arrow}|{_quoted(words)}| {ids[edge.target]}"


def _quoted(lines: tuple[str, ...]) -> str:
    """Return a quoted label, with entities for characters that have a meaning in Mermaid."""
    label = "".join(_ENTITIES.get(letter, letter) for letter in "\n".join(lines))
    return f'"{label}"'
