"""A message as HTML: the second part of a mail. Styles are attributes, since readers of mail drop style sheets."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from graph_compiler.explain.alerts.alert import Link
from graph_compiler.explain.alerts.message import Fact, Message, MessagePart

_FONT = "font-family:Helvetica,Arial,sans-serif;font-size:14px;line-height:1.45;color:#1f2430"
_CAUSE = (
    "margin:4px 0 0;padding:10px 12px;background:#f6f7f9;border-left:3px solid #c0392b;"
    "font-family:Menlo,Consolas,monospace;font-size:13px;white-space:pre-wrap;overflow-wrap:anywhere"
)


def html_page(message: Message) -> str:
    """Return the message as a document; every text in it is escaped."""
    parts = "".join(map(_part, message.parts))
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f"<title>{escape(message.title)}</title></head>\n"
        f'<body style="margin:0;padding:16px;background:#ffffff;{_FONT}">\n'
        '<div style="max-width:760px">\n'
        f'<h1 style="margin:0 0 12px;font-size:19px;overflow-wrap:anywhere">{escape(message.title)}</h1>\n'
        f"{_facts(message.facts)}{_links(message.links)}{parts}{_listed('Not known here', message.unknown)}"
        "</div>\n</body></html>\n"
    )


def _part(part: MessagePart) -> str:
    title = (
        f'<h2 style="margin:24px 0 6px;padding-top:12px;border-top:1px solid #d8dbe2;font-size:16px">'
        f"{escape(part.title)}</h2>\n"
        if part.title
        else ""
    )
    return (
        f"{title}{_facts(part.facts)}{_heading('Cause')}"
        f'<pre style="{_CAUSE}">{escape(part.cause)}</pre>\n'
        f"{_listed(part.repeats_title, part.repeats)}{_links(part.links)}"
        f"{_listed('Not known here', part.unknown)}"
    )


def _facts(facts: Iterable[Fact]) -> str:
    rows = "".join(
        f'<tr><td style="width:92px;padding:2px 14px 2px 0;color:#667085;vertical-align:top;white-space:nowrap">'
        f'{escape(fact.label)}</td><td style="padding:2px 0;overflow-wrap:anywhere">{escape(fact.value)}</td></tr>\n'
        for fact in facts
    )
    return f'<table role="presentation" style="border-collapse:collapse;{_FONT}">\n{rows}</table>\n'


def _links(links: tuple[Link, ...]) -> str:
    shown = " &nbsp;·&nbsp; ".join(
        f'<a href="{escape(link.url)}" style="color:#1d5fbf">{escape(link.label)}</a>' for link in links
    )
    return f'<p style="margin:14px 0 0">{shown}</p>\n' if links else ""


def _listed(title: str, lines: tuple[str, ...]) -> str:
    items = "".join(f'<li style="overflow-wrap:anywhere">{escape(line)}</li>\n' for line in lines)
    found = f'{_heading(title)}<ul style="margin:4px 0 0;padding-left:20px">\n{items}</ul>\n'
    return found if lines else ""


def _heading(title: str) -> str:
    return f'<p style="margin:14px 0 0;font-weight:bold">{escape(title)}</p>\n'
