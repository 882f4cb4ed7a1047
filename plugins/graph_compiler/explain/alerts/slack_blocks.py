"""A message as blocks of Slack's Block Kit, within its limits: what does not fit is left out, and the last one says so.

Slack refuses a message with more than 50 blocks, a section with more than 3,000 characters, a header with more than
150, and blocks with about 13,000 characters together (`msg_blocks_too_long`), which it does not document.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from graph_compiler.explain.alerts.alert import Link
from graph_compiler.explain.alerts.message import Fact, Message, MessagePart, one_line

MOST_BLOCKS = 50
MOST_OF_SECTION = 3_000
MOST_OF_HEADER = 150
MOST_OF_ALL = 11_000
"""The most characters of all texts together: some less than what Slack takes."""
_MOST_OF_URL = 900
_LEFT_OUT = "… (more does not fit in a message of Slack)"
Block = dict[str, Any]


def slack_blocks(message: Message) -> list[Block]:
    """Return the blocks; only Slack's `header`, `section` and `divider`."""
    title = {"type": "plain_text", "text": one_line(message.title, MOST_OF_HEADER), "emoji": False}
    blocks: list[Block] = [{"type": "header", "text": title}]
    left = MOST_OF_ALL - len(title["text"])  # type: ignore[arg-type]  # it is text
    for text in _texts(message):
        section = _section(text)
        left -= _size(section)
        # Two blocks are for what comes now, and for the note that more was left out.
        if left < 0 or len(blocks) > MOST_BLOCKS - 2:
            return [*blocks, _section(_LEFT_OUT)]
        blocks.append(section)
    return blocks


def _texts(message: Message) -> Iterator[str | None]:
    """Return the texts of sections, None for a line between two tasks."""
    yield _facts(message.facts)
    yield from filter(None, [_links(message.links)])
    for part in message.parts:
        if part.title:
            yield None
        yield from _part(part)
    yield from filter(None, [_listed("Not known here", message.unknown)])


def _part(part: MessagePart) -> Iterator[str]:
    yield _facts(part.facts)
    yield f"*Cause*\n```{_cut(escaped(part.cause), MOST_OF_SECTION - 20)}```"
    found = (_listed(part.repeats_title, part.repeats), _links(part.links), _listed("Not known here", part.unknown))
    yield from filter(None, found)


def _section(text: str | None) -> Block:
    if text is None:
        return {"type": "divider"}
    shown = _cut(text, MOST_OF_SECTION)
    return {"type": "section", "text": {"type": "mrkdwn", "text": shown, "verbatim": True}}


def _size(block: Block) -> int:
    return len(block["text"]["text"]) if "text" in block else 0


def _facts(facts: tuple[Fact, ...]) -> str:
    return "\n".join(f"*{escaped(fact.label)}*  {escaped(fact.value)}" for fact in facts)


def _listed(title: str, lines: tuple[str, ...]) -> str | None:
    items = "\n".join(f"• {escaped(line)}" for line in lines)
    return f"*{escaped(title)}*\n{items}" if lines else None


def _links(links: tuple[Link, ...]) -> str | None:
    """Return links in one line; `|` would end an address."""
    shown = ((escaped(link.url).replace("|", "%7C"), escaped(link.label)) for link in links)
    return "  ·  ".join(f"<{url}|{label}>" for url, label in shown if len(url) <= _MOST_OF_URL) or None


def escaped(text: str) -> str:
    """Return a text that mentions no one, links nothing, and begins and ends no block of code."""
    plain = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return plain.replace("```", "'''")


def _cut(text: str, most: int) -> str:
    """Return at most so many characters; an escaped character is not cut in two."""
    if len(text) <= most:
        return text
    kept = text[: most - 1]
    before, amp, rest = kept.rpartition("&")
    return f"{before if amp and ';' not in rest and len(rest) < len('&amp;') else kept}…"
