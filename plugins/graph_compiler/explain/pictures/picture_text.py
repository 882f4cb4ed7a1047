"""A picture as text: every node below its group, and below each node its inputs."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from graph_compiler.explain.pictures.picture import Edge, Picture


def picture_text(picture: Picture) -> str:
    """Return the picture as lines of text."""
    return "\n".join(_lines(picture))


def _lines(picture: Picture) -> Iterator[str]:
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
