"""Names of operators with line breaks, escapes, quotes, markup and 500 letters: refused, or shown as they are."""

from collections.abc import Callable
from html.parser import HTMLParser

import pytest

from graph_compiler import Csv, Parquet, SlotSharingGroup, StreamExecutionEnvironment
from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.errors import InvalidPipelineError
from graph_compiler.explain.documents.page import MARKER
from graph_compiler.explain.render import Format, Graph, render
from graph_compiler.identifiers import plain

HARMFUL = {
    "line break": "a\nERROR forged",
    "carriage return": "a\rforged",
    "tab": "a\tb",
    "end of a YAML block": "orders\n",
    "terminal": "a\x1b[31m\x1b]0;title\x07",
    "NUL": "a\x00b",
    "other line breaks": "a\x85b\u2028c\u2029d",
    "writing direction": "sales_\u202egnp.exe",
    "isolated direction": "a\u2067b\u2069",
    "half of a pair": "a\ud800b",
}
HARMLESS = {
    "quotes": "a\"'`b",
    "markup": "</script><script>alert(1)</script><img src=x onerror=alert(1)>",
    "mermaid": 'a"] --> b; click a call alert() %%{init: {}}%%',
    "markdown": "`](javascript:x) **b** | c",
    "template": "{{ ds }}{% raw %}",
    "arabic and a joiner": "\u0645\u0628\u064a\u0639\u0627\u062a \u200d\U0001f469\u200d\U0001f4bb",
    "backslashes": "a\\nb\\",
    "long": "x" * 500,
}


def named(where: str, name: str) -> StreamExecutionEnvironment:
    env = StreamExecutionEnvironment("p")
    rows = env.from_source(Csv("/in"), "in").filter("v > 1").name("kept")
    places: dict[str, Callable[[], object]] = {
        "name": lambda: rows.name(name),
        "uid": lambda: rows.uid(name),
        "slot sharing group": lambda: rows.slot_sharing_group(SlotSharingGroup(name)),
        "reason": lambda: rows.stage(name).sink_to(Parquet("/other")),
        "contract's name": lambda: rows.expect(name, "v > 2").sink_to(Parquet("/other")),
    }
    places[where]()
    rows.sink_to(Parquet("/out")).name("out")
    return env


@pytest.mark.parametrize("where", ["name", "uid", "slot sharing group", "reason", "contract's name"])
@pytest.mark.parametrize("name", HARMFUL.values(), ids=HARMFUL)
def test_names_with_control_characters_are_refused(where: str, name: str) -> None:
    with pytest.raises(InvalidPipelineError) as refusal:
        compile_pipeline(named(where, name).pipeline())
    words = str(refusal.value)
    assert f"its {where} has a line break or another control character" in words
    assert plain(words) == words
    assert not [line for line in words.splitlines()[1:] if not line.startswith("  ")]


@pytest.mark.parametrize("name", HARMLESS.values(), ids=HARMLESS)
def test_other_names_are_allowed_and_in_no_picture_anything_but_text(name: str) -> None:
    env = named("name", name)
    compiled = compile_pipeline(env.pipeline())
    for graph in (*Graph, None):
        for format in (Format.TEXT, Format.JSON, Format.MERMAID, Format.DOT):
            if graph is Graph.EXECUTION:
                continue
            text = render(compiled, graph, format)
            assert plain(text) == text
    page = render(compiled, None, Format.HTML, f"<html>{MARKER}</html>")
    tags: list[str] = []
    parser = HTMLParser()
    parser.handle_starttag = lambda tag, attrs: tags.append(tag)  # type: ignore[method-assign]  # noqa: ARG005
    parser.feed(page)
    assert "img" not in tags
    assert tags.count("script") <= 1


@pytest.mark.parametrize("name", HARMFUL.values(), ids=HARMFUL)
def test_the_message_about_a_pipelines_own_name_is_plain(name: str) -> None:
    with pytest.raises(InvalidPipelineError) as refusal:
        StreamExecutionEnvironment(name)
    assert plain(str(refusal.value)) == str(refusal.value)
    assert str(refusal.value).splitlines()[0].endswith("has 1 problem")
