"""Every topology of the corpus, compared with Flink's own answer."""

import json

import pytest

from tests.conformance.facts import facts, load
from tests.conformance.topology import compile_topology

CASES = load()


@pytest.mark.parametrize("name", CASES)
def test_flinks_answer(name: str) -> None:
    spec, wanted = CASES[name]
    answer = json.loads(json.dumps(compile_topology(spec)))
    found = facts(answer)
    for section, expected in wanted.items():
        assert found.get(section) == expected, section
    if wanted["refused_in"]:
        assert answer["error"]["message"]
