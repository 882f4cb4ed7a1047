"""The example pipelines/word_count.py has the plan that Flink 1.20.1 prints for its own word count."""

import json
from dataclasses import replace
from pathlib import Path

from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.declaration import Pipeline
from graph_compiler.explain.documents.graph_json import job_plan, stream_graph_json
from graph_compiler.projects.yaml.reader import read_pipeline
from pipelines.word_count import env
from pipelines.word_count_stream import env as stream
from tests.conformance.facts import load
from tests.yaml.equality import assert_equal

PIPELINES = Path(__file__).parents[2] / "pipelines"
NAMES = {
    "Source: Source": "Source: in-memory-input",
    "Map": "tokenizer",
    "Keyed Reduce": "counter",
    "Sink: Unnamed": "Sink: file-sink",
}
"""What the operators of Flink's answer in the corpus are called in the example."""


def test_the_plan_is_flinks() -> None:
    wanted = json.loads((PIPELINES / "word_count.flink.json").read_text())
    assert json.loads(env.get_execution_plan()) == wanted


def test_the_file_beside_it_is_flinks_answer_for_this_topology() -> None:
    _, facts = load()["b_canonical_pipelined_Default"]
    plan = facts["stream_graph"]["plan_json"]
    for node in plan["nodes"]:
        node |= {"type": NAMES[node["type"]], "contents": NAMES[node["contents"]], "parallelism": 1}
    assert json.loads((PIPELINES / "word_count.flink.json").read_text()) == plan


def test_operator_ids_and_chains_are_flinks_for_this_topology() -> None:
    _, facts = load()["b_canonical_pipelined_Default"]
    compiled = compile_pipeline(env.pipeline())
    found = stream_graph_json(compiled.stream_graph, compiled.options)
    hashes = [node["hash"] for node in facts["stream_graph"]["nodes"]]
    assert [node["hash"] for node in found["nodes"]] == hashes  # type: ignore[index,call-overload,union-attr]
    assert [node["id"] for node in job_plan(compiled.job_graph)["nodes"]] == [  # type: ignore[index,call-overload,union-attr]
        hashes[2],
        hashes[0],
    ]


def test_the_yaml_form_is_the_same_pipeline() -> None:
    found, wanted = read_pipeline(PIPELINES / "word_count_yaml.yaml"), env.pipeline()
    wanted = replace(wanted, name=found.name, parameters=found.parameters)
    assert isinstance(found, Pipeline)
    assert_equal(found, wanted)


def test_the_plan_over_lines_that_arrive_is_flinks_in_streaming() -> None:
    topology, facts = load()["c_canonical_reduce"]
    plan = facts["stream_graph"]["plan_json"]
    for node in plan["nodes"]:
        name = NAMES[node["type"]].replace("in-memory-input", "lines")
        node |= {"type": name, "contents": name, "parallelism": 1}
    assert topology["job"]["runtime_mode"] == "STREAMING"
    assert json.loads(stream.get_execution_plan()) == plan
