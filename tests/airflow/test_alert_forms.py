"""An alert as text, HTML and blocks of Slack, compared with golden files (`--update-golden` rewrites them); attacks."""

import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph_compiler.explain.alert import Link, Message, message_of, redacted
from tests.explain.test_alert import ALERTS, FINAL, everywhere

pytestmark = [
    pytest.mark.airflow,
    pytest.mark.filterwarnings("default"),  # Airflow's own imports warn of much
]
GOLDEN = Path(__file__).parents[1] / "golden" / "alerts"


def plain_text(message: Message) -> str:
    from graph_compiler.airflow_backend.notify import rendering

    return rendering.plain_text(message)


def html_page(message: Message) -> str:
    from graph_compiler.airflow_backend.notify import rendering

    return rendering.html_page(message)


def slack_blocks(message: Message) -> list[dict[str, Any]]:
    from graph_compiler.airflow_backend.notify import rendering

    return rendering.slack_blocks(message)


EVIL = "<img src=x onerror=alert(1)>&<!channel> \r\nBcc: all@example.com\x00\u202e\ud800 ```*_"


@pytest.mark.parametrize("name", ALERTS)
@pytest.mark.parametrize("form", ["txt", "html", "json"])
def test_every_form_of_an_alert_is_as_reviewed(name: str, form: str, request: pytest.FixtureRequest) -> None:
    message = message_of(ALERTS[name])
    forms = {
        "txt": lambda: plain_text(message),
        "html": lambda: html_page(message),
        "json": lambda: json.dumps(slack_blocks(message), indent=1, ensure_ascii=False) + "\n",
    }
    text, file = forms[form](), GOLDEN / f"{name}.{form}"
    if request.config.getoption("--update-golden"):
        file.write_text(text)
    assert file.read_text() == text


class Page(HTMLParser):
    """What a reader of mail sees: the text, the tags, and the addresses of links."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.links: list[str] = []
        self.words = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.links += [value or "" for name, value in attrs if name == "href"]

    def handle_data(self, data: str) -> None:
        self.words += data


def test_names_and_causes_are_no_markup_no_header_and_mention_nobody() -> None:
    message = message_of(everywhere(EVIL))
    assert message.title.isprintable(), "no line break begins a header"
    page = Page(html_page(message))
    assert "img" not in page.tags
    assert "<img src=x onerror=alert(1)>" in page.words
    assert all(text.isprintable() for text in plain_text(message).split("\n"))
    html_page(message).encode()
    slack = "".join(block["text"]["text"] for block in slack_blocks(message)[1:] if "text" in block)
    assert "<!channel>" not in slack
    assert "&lt;!channel&gt;" in slack
    assert slack.count("```") == 2 * slack.count("*Cause*"), "a cause does not end its block"


def test_only_addresses_of_http_are_links() -> None:
    urls = ("javascript:alert(1)", "https://a/b?x=<>|&y", "data:text/html,x", "http://" + "x" * 9_000)
    links = tuple(Link(label="L", url=url) for url in urls)
    message = message_of(replace(ALERTS["final"], links=links, tasks=(replace(FINAL, links=()),)))
    assert Page(html_page(message)).links == ["https://a/b?x=<>|&y"]
    slack = slack_blocks(message)[2]["text"]["text"]
    assert slack == "<https://a/b?x=&lt;&gt;%7C&amp;y|L>"


def test_a_secret_is_redacted_before_it_is_cut_or_escaped() -> None:
    secret = "s&cret<7>"
    long = "x" * 1_996 + secret
    alert = replace(ALERTS["final"], tasks=(replace(FINAL, operator=secret, cause=long),))
    message = message_of(redacted(alert, lambda text: text.replace(secret, "***")))
    for form in (plain_text(message), html_page(message), json.dumps(slack_blocks(message))):
        assert "***" in form
        assert not [part for part in (secret, "s&c", "s&amp;c") if part in form]


def check_blocks(blocks: list[dict[str, Any]]) -> None:
    """Fail unless Slack takes these blocks: its documented limits, and that of all texts together."""
    assert 1 <= len(blocks) <= 50
    size = 0
    for block in blocks:
        if block["type"] == "divider":
            assert set(block) == {"type"}
            continue
        assert set(block) == {"type", "text"}
        text = block["text"]
        size += len(text["text"])
        if block["type"] == "header":
            assert set(text) == {"type", "text", "emoji"}
            assert (text["type"], text["emoji"]) == ("plain_text", False)
            assert 1 <= len(text["text"]) <= 150
            continue
        assert block["type"] == "section"
        assert set(text) == {"type", "text", "verbatim"}
        assert (text["type"], text["verbatim"]) == ("mrkdwn", True)
        assert 1 <= len(text["text"]) <= 3_000
        bare = re.sub(r"<https?://[^|<>\s]+\|[^<>]+>", "", text["text"])
        assert not re.search(r"[<>]", bare)
        assert not re.search(r"&(?!amp;|lt;|gt;)", bare), "an escaped character is whole"
    assert size <= 12_000
    json.dumps(blocks).encode()


@pytest.mark.parametrize("name", ALERTS)
def test_slack_takes_the_blocks_of_every_alert(name: str) -> None:
    check_blocks(slack_blocks(message_of(ALERTS[name])))


@given(st.text(max_size=4_000), st.integers(0, 40), st.integers(0, 60))
def test_slack_takes_the_blocks_of_any_alert(text: str, tasks: int, others: int) -> None:
    task = redacted(FINAL, lambda value: value if value.startswith("http") else text)
    run = replace(everywhere(text), tasks=(task,) * tasks, others=(text,) * others)
    blocks = slack_blocks(message_of(run))
    check_blocks(blocks)
    if tasks > 20:
        assert "more does not fit" in blocks[-1]["text"]["text"]


def test_slack_takes_a_cause_that_is_only_of_escaped_characters() -> None:
    tasks = (replace(FINAL, cause="&" * 5_000),)
    blocks = slack_blocks(message_of(replace(ALERTS["final"], tasks=tasks)))
    check_blocks(blocks)
    assert any("&amp;…```" in block["text"]["text"] for block in blocks)


TEMPLATES = ("{{ message }}", "{% raw %}", "{#", "{{ 7 * 7 }}", "<script>x</script>", "]]>", "&lt;", "'\"", "*_`")


@given(st.lists(st.one_of(st.sampled_from(TEMPLATES), st.text(max_size=20)), max_size=6).map("".join))
def test_no_text_of_an_alert_is_a_template_or_markup(text: str) -> None:
    message = message_of(everywhere(f"x{text}"))
    (shown,) = (fact.value for fact in message.parts[0].facts if fact.label == "Pipeline")
    page = Page(html_page(message))
    assert page.tags == Page(html_page(message_of(everywhere("x")))).tags
    assert shown in page.words
    assert f"Pipeline     {shown}\n" in plain_text(message)
    blocks = "".join(block["text"]["text"] for block in slack_blocks(message) if "text" in block)
    unescaped = blocks.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
    assert f"*Pipeline*  {shown}\n".replace("```", "'''") in unescaped


@pytest.mark.parametrize("template", ["mail.txt", "mail.html", "slack.txt"])
def test_a_name_that_a_message_does_not_have_is_an_error(template: str) -> None:
    from jinja2 import UndefinedError

    from graph_compiler.airflow_backend.notify import rendering

    with pytest.raises(UndefinedError, match="has no attribute 'links'"):
        rendering._rendered(template, SimpleNamespace(title="t", facts=()))  # type: ignore[arg-type]  # it is incomplete
