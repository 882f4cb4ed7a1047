"""All problems of a file are reported at once, within limits. Single mistakes are cases of `tests/bad_input`."""

import time

import pytest

from graph_compiler.errors import InvalidPipelineError, Problem
from graph_compiler.projects.yaml.reader import parse_pipeline
from graph_compiler.projects.yaml.tree import MAX_CHARACTERS, MAX_PROBLEMS

HEAD = "name: p\nsources: {s: {csv: /in}}\nsteps:\n"
"""Two lines, and the steps' key in line 3."""


def problems(text: str) -> tuple[Problem, ...]:
    with pytest.raises(InvalidPipelineError) as refused:
        parse_pipeline(text, "p.yaml")
    return refused.value.problems


def test_all_problems_are_reported_in_file_order() -> None:
    text = """\
name: p
config: {parallelism.default: none}
sources:
  s: {csv: /in}
  t: {cvs: /in}
steps:
- {name: a, from: t, limit: 1}
- {name: b, limit: many}
- {name: c, from: b, limit: 1}
- {from: s, limit: 1, nmae: d}
- {from: x, limit: 1}
sinks:
  o: {from: y, sink_to: {csv: /o}}
  q: {from: a, sink_to: {csv: /o}}
"""
    found = problems(text)
    assert [problem.key for problem in found] == [
        "config.parallelism.default",
        "sources.t",
        "steps[1].limit",
        "steps[3].nmae",
        "steps[4].from",
        "sinks.o.from",
    ]
    lines = [problem.declared_at.line for problem in found if problem.declared_at]
    assert lines == [2, 5, 8, 10, 11, 13]


def test_a_problem_of_the_compiler_has_the_line_of_its_step() -> None:
    from graph_compiler.compiler.pipeline_compiler import compile_pipeline

    text = HEAD + "- {from: s, name: a, with_columns: {}}\n- {sink_to: {csv: ''}}"
    with pytest.raises(InvalidPipelineError) as refused:
        compile_pipeline(parse_pipeline(text, "p.yaml"))
    places = [str(problem.declared_at) for problem in refused.value.problems]
    assert places == ["p.yaml:4", "p.yaml:5"]


LAUGHS = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 20)
)
TOO_MUCH = {
    "a billion laughs": (LAUGHS, "it is too large after its aliases are expanded"),
    "lists in lists": ("a: " + "[" * 500_000, "it is nested too deeply"),
    "mappings in mappings": ("a: " + "{a: " * 200_000, "it is nested too deeply"),
    "aliases in aliases": ("a0: &a0 [x]\n" + "".join(f"a{n}: &a{n} [*a{n - 1}]\n" for n in range(1, 5000)), "it is nested too deeply"),
    "text": ("a: " + "x" * MAX_CHARACTERS, "characters"),
    "merges": ("a0: &a0 {x: 1}\n" + "".join(f"a{n}: &a{n} {{<<: *a{n - 1}, k{n}: 1}}\n" for n in range(1, 3000)), "it is nested too deeply"),
}  # fmt: skip


@pytest.mark.parametrize(("text", "words"), TOO_MUCH.values(), ids=TOO_MUCH.keys())
def test_excessive_documents_are_refused_within_a_second(text: str, words: str) -> None:
    began = time.process_time()
    found = problems(text)
    assert time.process_time() - began < 1
    assert words in str(found[0])


def test_only_the_first_of_many_mistakes_are_listed() -> None:
    assert len(problems(HEAD + "- {from: s, fliter: x}\n" * 5000)) == MAX_PROBLEMS
    assert len(problems("a: 1\n" * 5000)) == MAX_PROBLEMS


def test_scalars_follow_yaml_1_2() -> None:
    text = HEAD + "- {from: s, with_columns: {on: no, y: 2013-01-31, off: 'null'}, name: yes}\n- limit: 1"
    operator = parse_pipeline(text, "p.yaml").operators[1]
    assert operator.name == "yes"
    columns = (("on", "no"), ("y", "2013-01-31"), ("off", "null"))
    assert getattr(operator.operator, "columns", None) == columns


@pytest.mark.parametrize(
    ("section", "allowed"),
    [
        ("zz: 1", "name, description, tags"),
        ("schedule: {zz: 1}", "cron, every"),
        ("airflow: {zz: 1}", "dag, default_args"),
        ("airflow: {dag: {zz: 1}}", "access_control"),
        ("airflow: {task_args: {a: {zz: 1}}}", "depends_on_past"),
        ("params: {a: {default: 1, zz: 1}}", "default, sql_type"),
        ("params: {<parameters>: {default: 1, zz: 1}}", "default, sql_type"),
        ("steps: [{from: s, limit: 1, zz: 1}]", "from, limit"),
        ("steps: [{from: s, limit: 1, resources: {zz: 1}}]", "cpu_cores, memory"),
        ("steps: [{from: s, limit: 1, slot_sharing_group: {name: a, zz: 1}}]", "name, driver_memory"),
        ("steps: [{from: s, sql: {file: a.sql, zz: 1}}]", "file"),
        ("steps: [{sql: SELECT 1, streams: {<plain>: {from: s, broadcast: true, zz: 1}}}]", "from and broadcast"),
        ("steps: [{from: s, transform: 'a:b', arguments: {x: {param: p, zz: 1}}}]", "param"),
        ("steps: [{name: r, from_source: {csv: /in, zz: 1}}]", "csv, schema"),
        ("steps: [{from: s, window_all: {tumbling: t, zz: 1}, aggregate: {n: count(*)}}]", "tumbling, size and offset"),
        ("sinks: {o: {from: s, zz: 1, sink_to: {csv: /o}}}", "from, sink_to"),
        ("sinks: {o: {from: s, sink_to: {jdbc: u, table: t, options: {a: {secret: a, zz: 1}}}}}", "secret and field"),
    ],
)
def test_an_unknown_key_is_reported_with_the_keys_of_its_own_mapping(section: str, allowed: str) -> None:
    (found,) = (one for one in problems(f"name: p\nsources: {{s: {{csv: /in}}}}\n{section}") if "'zz'" in one.message)
    assert (found.allowed or "").startswith(allowed)
