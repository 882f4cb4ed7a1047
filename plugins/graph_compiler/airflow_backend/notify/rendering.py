"""The forms of an alert's message: text and HTML of a mail, blocks of Slack's Block Kit. How each looks is a template.

Values are only shown: a template is a file of this package, each form escapes all that is not its template's own text,
and a name that is missing in a message is an error.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from graph_compiler.explain.alert import Link, Message, one_line

# Slack refuses a message with more than 50 blocks, a section with more than 3,000 characters, a header with more than
# 150, and blocks with about 13,000 characters together (`msg_blocks_too_long`), which it does not document.
MOST_BLOCKS = 50
MOST_OF_SECTION = 3_000
MOST_OF_HEADER = 150
MOST_OF_ALL = 11_000
"""The most characters of all texts together: some less than what Slack takes."""
_MOST_OF_URL = 900
_LEFT_OUT = "… (more does not fit in a message of Slack)"
_BLOCK = "\f"
"""What begins a block in the template of Slack; no text of a message has it."""
Block = dict[str, Any]


def plain_text(message: Message) -> str:
    """Return the message as text, the first part of a mail, with a line break at its end."""
    return _rendered("mail.txt", message)


def html_page(message: Message) -> str:
    """Return the message as a document, the second part of a mail."""
    return _rendered("mail.html", message)


def slack_blocks(message: Message) -> list[Block]:
    """Return the blocks; only Slack's `header`, `section` and `divider`. The last one says if others do not fit."""
    title = one_line(message.title, MOST_OF_HEADER)
    blocks: list[Block] = [{"type": "header", "text": {"type": "plain_text", "text": title, "emoji": False}}]
    left = MOST_OF_ALL - len(title)
    for found in _rendered("slack.txt", message).split(_BLOCK)[1:]:
        text = _cut(found.strip("\n"), MOST_OF_SECTION)
        left -= len(text)
        # Two blocks are for what comes now, and for the note that more was left out.
        if left < 0 or len(blocks) > MOST_BLOCKS - 2:
            return [*blocks, _section(_LEFT_OUT)]
        blocks.append(_section(text) if text else {"type": "divider"})
    return blocks


def escaped(text: str) -> str:
    """Return a text that mentions no one in Slack, links nothing, and begins and ends no block of code."""
    plain = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return plain.replace("```", "'''").replace(_BLOCK, " ")


def _rendered(template: str, message: Message) -> str:
    return _environment(template).get_template(template).render(message=message)


@cache
def _environment(template: str) -> Environment:
    found = Environment(
        autoescape=template != "mail.txt",  # a text has no markup
        finalize=_of_slack if template == "slack.txt" else None,
        keep_trailing_newline=True,
        loader=PackageLoader(__package__),
        lstrip_blocks=True,
        trim_blocks=True,
        undefined=StrictUndefined,
    )
    found.globals["block"] = Markup(_BLOCK)
    found.filters |= {"code": _code, "openable": _openable}
    return found


def _of_slack(value: object) -> Markup:
    """Escape for Slack in place of HTML's escapes, which Slack shows."""
    return value if isinstance(value, Markup) else Markup(escaped(str(value)))


def _code(text: str) -> Markup:
    """Return what fits in a section with its title, as a block of code."""
    return Markup(f"```{_cut(escaped(text), MOST_OF_SECTION - 20)}```")


def _openable(links: tuple[Link, ...]) -> list[tuple[Markup, str]]:
    """Return addresses as Slack takes them, with their labels; `|` would end an address."""
    urls = ((Markup(escaped(link.url).replace("|", "%7C")), link.label) for link in links)
    return [each for each in urls if len(each[0]) <= _MOST_OF_URL]


def _section(text: str) -> Block:
    return {"type": "section", "text": {"type": "mrkdwn", "text": text, "verbatim": True}}


def _cut(text: str, most: int) -> str:
    """Return at most so many characters; an escaped character is not cut in two."""
    if len(text) <= most:
        return text
    kept = text[: most - 1]
    before, amp, rest = kept.rpartition("&")
    return f"{before if amp and ';' not in rest and len(rest) < len('&amp;') else kept}…"
