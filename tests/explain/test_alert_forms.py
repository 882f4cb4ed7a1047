"""An alert as text, HTML and blocks of Slack, compared with golden files (`--update-golden` rewrites them); attacks."""

import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.deployment.describe.region_descriptors import describe_pipeline
from graph_compiler.explain.alerts.alert import (
    AirflowTry,
    Alert,
    FailedTask,
    Link,
    RepeatedRegion,
    Repetition,
    ReusedResult,
    redacted,
)
from graph_compiler.explain.alerts.html_page import html_page
from graph_compiler.explain.alerts.message import message_of, short_cause, some
from graph_compiler.explain.alerts.plain_text import plain_text
from graph_compiler.explain.alerts.repetition import repetition
from graph_compiler.explain.alerts.slack_blocks import slack_blocks
from graph_compiler.explain.plan.plan_writer import failure_costs
from pipelines.flights import env as flights

GOLDEN = Path(__file__).parents[1] / "golden" / "alerts"
RUN = "scheduled__2026-01-02T00:00:00+00:00"
ADDRESS = "https://airflow.example.com/dags/nightly/runs/one"
FINAL = FailedTask(
    task_id="emea.daily.report",
    map_index=3,
    pipeline="sales",
    group="emea.daily",
    operator="by_country",
    declared_at="pipelines/sales.py:14",
    cause="[DIVIDE_BY_ZERO] Division by zero: amount / pieces\n  in: SELECT amount / pieces AS price",
    attempt=AirflowTry(try_number=3, tries=3, is_retried=False),
    repetition=Repetition(
        regions=(RepeatedRegion(region="report", operators=("by_country", "out")),),
        kept=("rows",),
        reused=(ReusedResult(name="with_weather", task="with_weather"),),
    ),
    links=(
        Link(label="Log of this try", url=f"{ADDRESS}/tasks/report?try_number=3"),
        Link(label="Plan and attempts", url=f"{ADDRESS}/tasks/report/plugin/x"),
        Link(label="Spark's history server", url="https://spark.example.com/history/app-1/jobs/"),
    ),
)
RETRIED = replace(
    FINAL,
    map_index=None,
    attempt=AirflowTry(try_number=1, tries=3, is_retried=True, seconds=10.0),
    repetition=Repetition(
        regions=(RepeatedRegion(region="report", operators=("by_country", "out")),),
        reused=(ReusedResult(name="with_weather", task="with_weather"),),
    ),
    links=tuple(replace(link, url=link.url.replace("=3", "=1")) for link in FINAL.links),
)
KILLED = FailedTask(
    task_id="load",
    map_index=None,
    pipeline="sales",
    last_seen="with_weather, declared at pipelines/sales.py:9",
    cause="it died without a report: its worker was killed or lost",
    attempt=AirflowTry(try_number=2, tries=3, is_retried=False, why_not="its retry policy says so"),
    repetition=Repetition(regions=(RepeatedRegion(region="load", operators=("rows", "out")),)),
    unknown=("the application in Spark: its driver has not reported one",),
)
NOT_OURS = FailedTask(task_id="wait", map_index=None, cause="AirflowException: Bash command failed")
ALERTS = {
    "final": Alert(dag_id="nightly", run_id=RUN, tasks=(FINAL,)),
    "retry": Alert(dag_id="nightly", run_id=RUN, tasks=(RETRIED,)),
    "killed": Alert(dag_id="sales", run_id=RUN, tasks=(KILLED,), unknown=("the staging root: no connection",)),
    "run": Alert(
        dag_id="nightly",
        run_id=RUN,
        reason="task_failure",
        tasks=(FINAL, KILLED, NOT_OURS),
        others=("one", "two"),
        not_run=4,
        links=(Link(label="Run", url=ADDRESS),),
    ),
}
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


def everywhere(text: str) -> Alert:
    """Return an alert of a run that has a text in all its places."""

    def spoiled(value: str) -> str:
        return value if value.startswith("http") else text

    return redacted(ALERTS["run"], spoiled)


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


def test_java_stacks_and_colors_are_left_out_and_a_long_cause_says_so() -> None:
    cause = (
        "\x1b[31morg.apache.spark.SparkException\x1b[0m: Job aborted\n"
        "\tat org.apache.spark.rdd.RDD.$anonfun$collect$1(RDD.scala:1049)\n"
        "\tat java.base/java.lang.Thread.run(Thread.java:840)\n\t... 12 more\n"
        "Caused by: no space left"
    )
    assert short_cause(cause) == "org.apache.spark.SparkException: Job aborted\nCaused by: no space left"
    assert short_cause("look at it (now)") == "look at it (now)"
    assert short_cause("x" * 2_100).splitlines()[1] == "… (100 more characters are in the log)"
    assert len(short_cause("y\n" * 100).splitlines()) == 31
    assert some([str(n) for n in range(15)]) == "0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 and 3 more"


def test_a_try_beyond_its_retries_is_no_contradiction() -> None:
    task = replace(FINAL, attempt=AirflowTry(try_number=5, tries=3, is_retried=False))
    text = plain_text(message_of(replace(ALERTS["final"], tasks=(task,))))
    assert "Attempt      5 of 5; Airflow does not try again" in text


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


def test_what_is_repeated_is_what_explain_says() -> None:
    compiled = compile_pipeline(flights.pipeline())
    described, costs = describe_pipeline(compiled), failure_costs(compiled)
    assert len(described.regions) > 1
    for region in described.regions:
        others = [each for each in described.regions if each.region_id != region.region_id]
        found = repetition([region], frozenset(), others)
        (again,) = found.regions
        cost = costs[region.region_id]
        assert again.operators == cost.repeated
        assert tuple(each.name for each in found.reused) == cost.reread
