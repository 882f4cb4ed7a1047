"""What is wrong with a file is told at once, in words, each with its line, its column and its key."""

import time

import pytest

from graph_compiler.declaration.yaml_spec.reader import parse_pipeline
from graph_compiler.declaration.yaml_spec.tree import MAX_CHARACTERS, MAX_PROBLEMS
from graph_compiler.errors import InvalidPipelineError, Problem

HEAD = "name: p\nsources: {s: {csv: /in}}\nsteps:\n"
"""Two lines, and the steps' key in line 3."""

MISTAKES = {
    "nothing": ("", ["it is empty", "declared at p.yaml:1:1"]),
    "no mapping": ("- a", ["the file is ['a']", "allowed: a mapping"]),
    "no YAML": ("name: p\nsources:\n\ts: x", ["it is no YAML", "indent with spaces", "p.yaml:3:1"]),
    "a template without quotes": ("name: p\nsources: {s: {csv: {{ params.x }}/a}}", ["a value that begins with {{ must stand in quotes", "p.yaml:2:21"]),
    "a key twice": ("name: p\nsources: {}\nname: q", ["key 'name' is there twice", "the first is in line 1", "p.yaml:3:1"]),
    "an alias of nothing": ("name: *x", ["alias '*x' names nothing", "p.yaml:1:7"]),
    "an alias inside itself": ("name: &x [*x]", ["it stands inside what it names"]),
    "a tag": ("name: !!python/object/apply:os.system [x]", ["there is a tag", "allowed: plain values"]),
    "two documents": ("name: p\n---\nname: q", ["there is a second document", "p.yaml:2:1"]),
    "an unknown key of the file": ("nam: p\nname: p", ["nam: there is no key 'nam' here", "did you mean 'name'?", "p.yaml:1:1"]),
    "no name": ("sources: {s: {csv: x}}", ["name: is missing"]),
    "a name Airflow cannot take": ("sources: {s: {csv: x}}\nname: a b", ["name: 'a b' cannot be a pipeline's name", "p.yaml:2:1"]),
    "an unknown operator": (HEAD + "- {from: s, fliter: x}", ["steps[0]: no key names an operator; found from and fliter", "allowed: aggregate, ", "did you mean 'filter'?", "p.yaml:4:3"]),
    "two operators": (HEAD + "- {from: s, filter: x, limit: 3}", ["2 keys that each name an operator: filter and limit", "allowed: one"]),
    "an unknown key": (HEAD + "- {from: s, filter: x, reject: y}", ["steps[0].reject: there is no key 'reject' here", "did you mean 'rejects'?", "p.yaml:4:24"]),
    "no number": (HEAD + "- {from: s, limit: many}", ["steps[0].limit: is 'many'", "allowed: a whole number"]),
    "no text": (HEAD + "- {from: s, filter: 3}", ["steps[0].filter: is 3", "in quotes"]),
    "no texts": (HEAD + "- {from: s, with_columns: {a: 1}}", ["steps[0].with_columns: is {'a': 1}", "in quotes"]),
    "no choice": (HEAD + "- {from: s, join: s, on: a, how: lefft}", ["steps[0].how: is 'lefft'", "allowed: inner, left", "did you mean 'left'?"]),
    "a call that is not made": (HEAD + "- {from: s, rebalance: false}", ["rebalance: is False", "leave the key out"]),
    "a function that is not deterministic": (HEAD + "- {from: s, transform: m:f, deterministic: false}", ["deterministic_function: false"]),
    "an unknown stream": (HEAD + "- {from: ss, limit: 1}", ["steps[0].from: nothing is called 'ss'", "allowed: s", "did you mean 's'?", "p.yaml:4:4"]),
    "a stream from below": (HEAD + "- {from: b, limit: 1}\n- {from: s, limit: 2, name: b}", ["steps[0].from: nothing is called 'b'", "it is declared further down"]),
    "a name twice": (HEAD + "- {from: s, limit: 1, name: b}\n- {limit: 2, name: b}", ["steps[1].name: 'b' is there twice", "hint: 'as' gives"]),
    "no input": (HEAD + "- {limit: 1}", ["steps[0]: 'from' is missing, and there is no step before it"]),
    "no input behind a sink": (HEAD + "- {from: s, sink_to: {csv: /o}}\n- {limit: 1}", ["steps[1].limit: it stands behind a sink, which gives nothing"]),
    "no module": (HEAD + "- {from: s, transform: 'no_such_module:f'}", ["steps[0].transform: cannot import no_such_module", "p.yaml:4:13"]),
    "no function": (HEAD + "- {from: s, transform: 'tests.yaml.yaml_functions:onee'}", ["has no function 'onee'; did you mean 'one'?"]),
    "no function's name": (HEAD + "- {from: s, transform: clean}", ["is 'clean'", "allowed: module:function"]),
    "no plain function": (HEAD + "- {from: s, transform: 'collections:OrderedDict'}", ["transform cannot take this function", "is not a plain function", "p.yaml:4"]),
    "not by key": (HEAD + "- {from: s, reduce: {a: max}}", ["steps[0].reduce: it stands behind rows that are not by key", "key_by: [columns]"]),
    "what the call refuses": (HEAD + "- {from: s, key_by: a, reduce: {a: mx}}", ["steps[0]: reduce was given mx", "allowed: sum, min", "p.yaml:4:3"]),
    "a setting of no operator": (HEAD + "- {from: s, rebalance: true, parallelism: 3}", ["steps[0]: parallelism can be set on an operator only"]),
    "half of the resources": (HEAD + "- {from: s, limit: 1, preferred_resources: {cpu_cores: 1, memory: 1g}}", ["it stands without 'resources'"]),
    "an unknown connector": ("name: p\nsources: {s: {cvs: /in}}", ["sources.s: no key names a connector; found cvs", "did you mean 'csv'?"]),
    "a connector's unknown key": ("name: p\nsources: {s: {csv: /in, hedder: true}}", ["sources.s.hedder: there is no key", "did you mean 'header'?"]),
    "no connector": ("name: p\nsources: {s: /in}", ["sources.s: is '/in'", "a mapping with a key that names a connector"]),
    "an unknown window": (HEAD + "- {from: s, window_all: {tumblin: a, size: b}, aggregate: {n: count(*)}}", ["steps[0].window_all: no key names a window", "did you mean 'tumbling'?"]),
    "another way to travel": (HEAD + "- {from: {from: s, filter: x}, limit: 3}", ["steps[0].from: no key names how rows travel", "allowed: rebalance, "]),
    "rows in windows": (HEAD + "- {from: s, window_all: {tumbling: a, size: b}, as: w}\n- {from: s, join: w, on: a}", ["steps[1].join: it is rows in windows, which wait for aggregate"]),
    "an unknown option": ("name: p\nconfig: {parallelism.defalt: 2}\nsources: {s: {csv: /in}}", ["config.parallelism.defalt: there is no option", "did you mean 'parallelism.default'?", "p.yaml:2:10"]),
    "an option's value": ("name: p\nconfig: {parallelism.default: 0}\nsources: {s: {csv: /in}}", ["config.parallelism.default: option 'parallelism.default' is '0'"]),
    "a parameter's name": ("name: p\nparams: {a b: 2}\nsources: {s: {csv: /in}}", ["params.a b: 'a b' cannot be a parameter's name"]),
    "a parameter's value": ("name: p\nparams: {a: [2]}\nsources: {s: {csv: /in}}", ["params.a: is [2]"]),
    "no query": (HEAD + "- {from: s, sql: {file: nope.sql}}", ["steps[0].sql.file: 'nope.sql' cannot be read"]),
    "two inputs of a query": (HEAD + "- {from: s, sql: x, streams: {a: s}}", ["steps[0].from: it is beside 'streams'"]),
    "a sink that reads nothing": ("name: p\nsinks: {o: {sink_to: {csv: /o}}}", ["sinks.o.from: is missing"]),
}  # fmt: skip


def problems(text: str) -> tuple[Problem, ...]:
    with pytest.raises(InvalidPipelineError) as refused:
        parse_pipeline(text, "p.yaml")
    return refused.value.problems


@pytest.mark.parametrize(("text", "words"), MISTAKES.values(), ids=MISTAKES.keys())
def test_a_mistake_is_told_in_words(text: str, words: list[str]) -> None:
    (problem,) = problems(text)
    for sentence in words:
        assert sentence in str(problem)
    assert problem.column is not None


def test_everything_is_told_at_once_in_the_order_of_the_file() -> None:
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
    "a billion laughs": (LAUGHS, "it holds too much, its aliases expanded"),
    "lists in lists": ("a: " + "[" * 500_000, "it is nested too deeply"),
    "mappings in mappings": ("a: " + "{a: " * 200_000, "it is nested too deeply"),
    "aliases in aliases": ("a0: &a0 [x]\n" + "".join(f"a{n}: &a{n} [*a{n - 1}]\n" for n in range(1, 5000)), "it is nested too deeply"),
    "text": ("a: " + "x" * MAX_CHARACTERS, "characters"),
    "merges": ("a0: &a0 {x: 1}\n" + "".join(f"a{n}: &a{n} {{<<: *a{n - 1}, k{n}: 1}}\n" for n in range(1, 3000)), "it is nested too deeply"),
}  # fmt: skip


@pytest.mark.parametrize(("text", "words"), TOO_MUCH.values(), ids=TOO_MUCH.keys())
def test_what_is_too_much_is_refused_within_a_second(text: str, words: str) -> None:
    began = time.process_time()
    found = problems(text)
    assert time.process_time() - began < 1
    assert words in str(found[0])


def test_many_mistakes_are_told_in_part() -> None:
    assert len(problems(HEAD + "- {from: s, fliter: x}\n" * 5000)) == MAX_PROBLEMS
    assert len(problems("a: 1\n" * 5000)) == MAX_PROBLEMS


def test_words_are_those_of_yaml_1_2() -> None:
    text = (
        HEAD
        + "- {from: s, with_columns: {on: no, y: 2013-01-31, off: 'null'}, name: yes}\n- limit: 1"
    )
    operator = parse_pipeline(text, "p.yaml").operators[1]
    assert operator.name == "yes"
    columns = (("on", "no"), ("y", "2013-01-31"), ("off", "null"))
    assert getattr(operator.operator, "columns", None) == columns
