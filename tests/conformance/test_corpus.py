"""Every topology of the corpus, compared with Flink's own answer."""

import json
from typing import Any

import pytest

from tests.conformance.facts import comparable, facts, load
from tests.conformance.topology import compile_topology

CASES = load()
DIFFERENCES = {
    "probe_over_max": ("stream_graph", "parallelism 6 is higher than its maximum of 4"),
    "probe_par_33000": ("stream_graph", "parallelism is 33000"),
    "resources_batch": (None, ""),
}
"""Where we differ on purpose (docs/flink.md): where we refuse, and how."""


@pytest.mark.parametrize("name", [name for name in CASES if name not in DIFFERENCES])
def test_flinks_answer(name: str) -> None:
    spec, wanted = CASES[name]
    answer = json.loads(json.dumps(compile_topology(spec)))
    found = comparable(facts(answer), wanted)
    for section, expected in wanted.items():
        assert found.get(section) == expected, section
    if wanted["refused_in"]:
        assert answer["error"]["message"]


@pytest.mark.parametrize("name", DIFFERENCES)
def test_a_difference_on_purpose(name: str) -> None:
    spec, wanted = CASES[name]
    answer = compile_topology(spec)
    refused_in, message = DIFFERENCES[name]
    assert wanted["refused_in"] != refused_in
    assert answer.get("error", {}).get("phase") == refused_in
    assert message in answer.get("error", {}).get("message", "")


def test_flink_is_compared_by_its_resources_too() -> None:
    graphs: list[dict[str, Any]] = [wanted.get("stream_graph", {}) for _, wanted in CASES.values()]
    assert any("min_resources" in node for graph in graphs for node in graph.get("nodes", []))
