"""Sentences of the documents that were not true once: facts are compared with the code, and the others stay unsaid."""

import json
import lzma
import re
from dataclasses import dataclass, field, fields
from pathlib import Path

import pytest

from graph_compiler import Csv, Parquet, StreamExecutionEnvironment
from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.declaration.connectors.file_uris import places_with_stores
from graph_compiler.declaration.operators import Operator, OperatorAttributes
from graph_compiler.declaration.retention import HISTORY_SIZE
from graph_compiler.deployment.documents import staging_layout
from graph_compiler.deployment.targets import known_targets
from graph_compiler.deployment.targets.execution_target import ExecutionTarget, SecretWay
from graph_compiler.explain.plan.plan_writer import plan_of
from graph_compiler.explain.text.plan_text import explain_text
from graph_compiler.graphs.execution import ExecutionState
from graph_compiler.run_client.run_client import RunClient
from pipelines.flights import env as flights
from tests.harness.registered_kinds import register

ROOT = Path(__file__).parents[2]
UNTRUE = [
    ("docs/connectors.md", "Sinks take an absolute path or a `file:` URI;"),
    ("docs/connectors.md", "as the source's parallelism"),
    ("docs/connectors.md", "in the environment of that process"),
    ("docs/connectors.md", "the target gets new columns; types"),
    ("docs/guide.md", "A sink needs an absolute path or a `file:` URI that all workers can access; "),
    ("docs/guide.md", "after every sink of its task is written"),
    ("docs/guide.md", "every problem of every pipeline"),
    ("docs/cli.md", "every problem of every pipeline"),
    ("docs/operators.md", "| `broadcast()` | all of them to each partition |"),
    ("docs/operators.md", "across all files of a sink"),
    ("docs/threats.md", "and nowhere else"),
    ("docs/guide.md", "and stored nowhere else"),
    ("docs/flink.md", "no cluster is started or queried"),
    ("docs/options.md", "An option that would have no effect is refused"),
    ("docs/decisions/08-parallelism.md", "the report has the actual number"),
    ("docs/decisions/32-hooks-and-coordinators.md", "so one failure reports all problems ("),
    ("docs/staging.md", "tasks/<task>/"),
    ("docs/stores.md", "graph-compiler["),
    ("docs/compose.md", "cannot be installed with Airflow"),
    ("docs/decisions/42-containers.md", "cannot be installed together"),
    ("docs/yaml.md", "everything that the Python API can"),
    ("docs/targets.md", "No problem with it fails a task"),
    ("docs/failures.md", "counted from 0 as in Flink. A task"),
    ("CHANGELOG.md", "file sinks anywhere but on a shared"),
    ("README.md", "and refuses others for now"),
    ("README.md", "a retry repeats one task and reads what the others committed."),
    ("docs/sinks.md", "When every sink of the task is written"),
    ("docs/staging.md", "if the last attempt at every task that reads the result has finished"),
    ("docs/staging.md", "| order | no attempt at that task commits,"),
    ("docs/cli.md", "shows every attempt at every task of a run"),
    ("docs/guide.md", "every attempt at every task"),
    ("docs/failures.md", "shows the current attempt at every task of a run and the sixteen before it"),
    ("plugins/graph_compiler/options/model.py", "How many earlier attempts at a task `"),
    ("plugins/graph_compiler/options/flink_options.py", "it is `region`, always: a failure repeats one task"),
    ("docs/options.md", "`region`, always: a failure repeats one task"),
    ("docs/threats.md", "in its targets exactly once, or the task fails with a clear message |"),
    ("plugins/graph_compiler/declaration/streams/partitioning_methods.py", "Spread the rows at random"),
    (
        "plugins/graph_compiler/declaration/connectors/connector.py",
        "have published are replaced, not added to. Merging",
    ),
]


def text_of(name: str) -> str:
    return (ROOT / name).read_text()


def constant(module: str, name: str) -> str:
    """Return a constant as it is written: Spark and Airflow are not needed to read it."""
    source = text_of(f"plugins/graph_compiler/{module}")
    (value,) = re.findall(rf"^{name} = (.+)$", source, re.MULTILINE)
    return str(value)


@pytest.mark.parametrize(("name", "words"), UNTRUE, ids=[words for _, words in UNTRUE])
def test_what_was_not_true_stays_unsaid(name: str, words: str) -> None:
    found = text_of(name)
    assert " ".join(words.split()) not in " ".join(found.split())


@pytest.mark.parametrize("name", ["docs/connectors.md", "docs/guide.md"])
def test_documents_name_the_places_of_file_sinks(name: str) -> None:
    page = text_of(name)
    schemes = re.findall(r"(\w+)://", places_with_stores())
    assert schemes == ["s3a", "hdfs"]
    assert all(f"{scheme}://" in page for scheme in schemes)


def test_the_guide_shows_what_explain_prints() -> None:
    (shown,) = re.findall(r"```\n(flights · 24 .*?)```", text_of("docs/guide.md"), re.DOTALL)
    assert shown.strip() == explain_text(plan_of(compile_pipeline(flights.pipeline()))).strip()


def test_flinks_states_all_have_a_row() -> None:
    table = text_of("docs/failures.md").partition("| Flink's ExecutionState |")[2].partition("\n\n")[0]
    assert set(re.findall(r"^\| ([A-Z]+) \|", table, re.MULTILINE)) == {*ExecutionState}


def test_the_folders_of_a_run_are_those_of_its_layout() -> None:
    """`staging_layout.py` draws them; its documents of one execution are one row of the page."""
    drawn = set(re.findall(r"^    ([a-z]+)/", staging_layout.__doc__ or "", re.MULTILINE))
    table = text_of("docs/staging.md").partition("## Layout")[2].partition("\n\n*")[0]
    named = set(re.findall(r"`<pipeline>/<run>/([a-z]+)/", table))
    assert named == drawn
    assert "tasks/<region>/<execution>/" in table
    assert "`kept.json`" in table


def test_every_way_of_a_secret_is_described() -> None:
    targets = [one for one in vars(known_targets).values() if isinstance(one, ExecutionTarget)]
    places = [place for one in targets for place in (one.client, one.cluster) if place is not None]
    ways = {place.secrets for place in places if place.secrets is not None}
    assert ways == set(SecretWay)
    words = {SecretWay.ENVIRONMENT: "environment", SecretWay.FILE: "in a file"}
    words[SecretWay.KUBERNETES_SECRET] = "a secret"
    secrets = " ".join(text_of("docs/connectors.md").partition("\n## Secrets")[2].split())
    assert [way for way in ways if words[way] not in secrets] == []


def test_the_client_of_runs_has_the_commands_that_flink_md_names() -> None:
    (row,) = re.findall(r"^\| attached and detached mode, JobClient .*$", text_of("docs/flink.md"), re.M)
    for command in ("submit", "status", "cancel", "resume", "result"):
        assert f"`{command}`" in row or f"`graph-compiler {command}`" in row
        assert callable(getattr(RunClient, command))


@dataclass(frozen=True, slots=True)
class AtTheEnd(Operator):
    """An operator as CONTRIBUTING.md describes it."""

    default_name = "At the end"
    attributes: OperatorAttributes = field(default=OperatorAttributes(outputs_only_after_end=True), kw_only=True)


def test_a_package_sets_attributes_as_contributing_says(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch, AtTheEnd)
    assert "OperatorAttributes(outputs_only_after_end=True)" in text_of("CONTRIBUTING.md")
    assert {one.name for one in fields(OperatorAttributes)} >= {"outputs_only_after_end"}
    env = StreamExecutionEnvironment("p")
    slow = env.from_source(Csv("/in"), "in")._one_input(AtTheEnd()).name("slow")
    slow.filter("x > 1").name("reader").rebalance().filter("x > 2").sink_to(Parquet("/out"))
    compiled = compile_pipeline(env.pipeline())
    assert "OUTPUT_ONLY_AFTER_END" in {
        str(edge.staging.reason) for edge in compiled.job_graph.edges if edge.staging is not None
    }


def test_numbers_of_the_documents_are_those_of_the_code() -> None:
    failures = " ".join(text_of("docs/failures.md").split())
    longest = constant("spark_runtime/failures/failures.py", "LONGEST_MESSAGE")
    last = constant("airflow_backend/provider/submit_process.py", "LAST_LINES")
    assert f"first {int(longest):,} characters" in failures
    assert f"last {int(last):,} lines" in failures
    assert (HISTORY_SIZE, "sixteen before it" in failures) == (16, True)
    day = constant("testing/mini_cluster.py", "DAY").strip('"')
    assert f"The default is {day}" in text_of("docs/testing.md")
    with lzma.open(ROOT / "tests/conformance/cases.json.xz") as corpus:
        topologies = len(json.load(corpus))
    assert f"graphs for {topologies} topologies" in text_of("docs/flink.md")


def test_no_text_tells_to_install_what_is_not_released() -> None:
    assert "Nothing is released yet" in text_of("CHANGELOG.md")
    pages = set((ROOT / "docs").rglob("*.md")) - {ROOT / "docs/package.md"}  # an index shows it with the package
    sources = [*(ROOT / "plugins").rglob("*.py"), *sorted(pages), ROOT / "README.md"]
    wrong = re.compile(r"pip install ['\"]?graph-compiler")
    assert [str(path) for path in sources if wrong.search(path.read_text())] == []
