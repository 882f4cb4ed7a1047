"""A message as plain text: the first part of a mail."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from graph_compiler.explain.alerts.alert import Link
from graph_compiler.explain.alerts.message import Fact, Message, MessagePart


def plain_text(message: Message) -> str:
    """Return the message as text, with a line break at its end."""
    return "\n".join(_lines(message)) + "\n"


def _lines(message: Message) -> Iterator[str]:
    yield message.title
    yield ""
    yield from _facts(message.facts)
    yield from _links(message.links)
    for part in message.parts:
        yield from _part(part)
    yield from _listed("Not known here", message.unknown)


def _part(part: MessagePart) -> Iterator[str]:
    if part.title:
        yield ""
        yield part.title
        yield "-" * len(part.title)
    yield from _facts(part.facts)
    yield ""
    yield "Cause"
    yield from (f"  {line}".rstrip() for line in part.cause.split("\n"))
    yield from _listed(part.repeats_title, part.repeats)
    yield from _links(part.links)
    yield from _listed("Not known here", part.unknown)


def _facts(facts: Iterable[Fact]) -> Iterator[str]:
    return (f"{fact.label:<13}{fact.value}" for fact in facts)


def _links(links: tuple[Link, ...]) -> Iterator[str]:
    if links:
        yield ""
        for link in links:
            yield f"{link.label}:"
            yield f"  {link.url}"


def _listed(title: str, lines: tuple[str, ...]) -> Iterator[str]:
    if lines:
        yield ""
        yield title
        yield from (f"  - {line}" for line in lines)
