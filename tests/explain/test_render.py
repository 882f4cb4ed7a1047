"""Every graph in every form, compared with golden files; `--update-golden` rewrites them."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from graph_compiler import Csv, Parquet, StreamExecutionEnvironment
from graph_compiler.cli.app import app
from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.errors import InvalidPipelineError
from graph_compiler.explain.documents.graph_json import job_graph_json, job_plan, stream_graph_json, streaming_plan
from graph_compiler.explain.pictures.picture import Edge, Picture, PictureNode, dot, mermaid
from graph_compiler.explain.render import Format, Graph, render
from graph_compiler.graphs.compiled_pipeline import CompiledPipeline
from pipelines.flights import env as flights

GOLDEN = Path(__file__).parents[1] / "golden" / "graphs"


def shares() -> StreamExecutionEnvironment:
    """Three subtasks feed two; a side output; a staged result; a vertex with more subtasks than are drawn."""
    env = StreamExecutionEnvironment("shares")
    rows = env.from_source(Csv("/in"), 'rows "raw"').set_parallelism(3)
    kept = rows.filter("x > 0", rejects="late").name("kept").uid("kept").set_parallelism(3)
    kept.get_side_output("late").sink_to(Parquet("/late")).name("late").set_parallelism(3)
    staged = kept.rescale().stage("dear").filter("y < 1").name("some").set_parallelism(2)
    staged.rebalance().sink_to(Parquet("/out")).name("many").set_parallelism(20)
    return env


EXAMPLES = {env.name: compile_pipeline(env.pipeline()) for env in (flights, shares())}
PICTURES = [
    (name, graph, format)
    for name in EXAMPLES
    for graph in Graph
    for format in (Format.TEXT, Format.MERMAID, Format.DOT)
]


@pytest.mark.parametrize(("name", "graph", "format"), PICTURES)
def test_graphs_are_rendered_as_text_and_as_pictures(
    name: str, graph: Graph, format: Format, request: pytest.FixtureRequest
) -> None:
    file = GOLDEN / f"{name}.{graph}.{format}"
    text = render(EXAMPLES[name], graph, format) + "\n"
    if request.config.getoption("--update-golden"):
        file.write_text(text)
    assert file.read_text() == text


def test_documents_are_the_graphs_and_flinks_plans() -> None:
    compiled = EXAMPLES["shares"]
    found = {
        (graph, format): json.loads(render(compiled, graph, format))
        for graph in (Graph.STREAM, Graph.JOB)
        for format in (Format.JSON, Format.FLINK)
    }
    assert found == {
        (Graph.STREAM, Format.JSON): stream_graph_json(compiled.stream_graph, compiled.options),
        (Graph.STREAM, Format.FLINK): streaming_plan(compiled.stream_graph),
        (Graph.JOB, Format.JSON): job_graph_json(compiled.job_graph),
        (Graph.JOB, Format.FLINK): job_plan(compiled.job_graph),
    }
    execution = json.loads(render(compiled, Graph.EXECUTION, Format.JSON))
    assert [len(vertex["subtasks"]) for vertex in execution["vertices"]] == [3, 2, 20]


def test_pictures_default_to_the_job_graph_and_plans_to_the_stream_graph() -> None:
    compiled = EXAMPLES["shares"]
    for format, graph in ((Format.MERMAID, Graph.JOB), (Format.DOT, Graph.JOB), (Format.FLINK, Graph.STREAM)):
        assert render(compiled, None, format) == render(compiled, graph, format)


def test_markup_of_the_picture_languages_is_escaped() -> None:
    picture = Picture(
        title="p",
        groups=("g",),
        nodes=(PictureNode(id="a", words=('say "a" \\ <b> #1 `c`\n', "second"), group=0),),
        edges=(Edge(source="a", target="a", words=("x",), reason='why "', is_staged=True),),
    )
    assert '    n0["say #quot;a#quot; \\ #lt;b#gt; #35;1 #96;c#96;<br/><br/>second"]' in mermaid(picture)
    assert '    n0 [label="say \\"a\\" \\\\ <b> #1 `c`\\n\\nsecond"]' in dot(picture)
    assert '  n0 -> n0 [label="x\\nwhy \\"" style=bold]' in dot(picture)


def wide(subtasks: int) -> CompiledPipeline:
    env = StreamExecutionEnvironment("wide")
    rows = env.from_source(Csv("/in"), "rows").set_parallelism(subtasks)
    rows.shuffle().sink_to(Parquet("/out")).set_parallelism(subtasks)
    return compile_pipeline(env.pipeline())


def test_a_picture_stays_small_however_many_subtasks_there_are() -> None:
    assert render(wide(8), Graph.EXECUTION, Format.DOT).count("->") == 64
    drawn = render(wide(16_000), Graph.EXECUTION, Format.DOT)
    assert drawn.count("->") == 1
    assert "(1…16000)" in drawn


def test_an_unknown_execution_graph_is_reported() -> None:
    env = StreamExecutionEnvironment("p", config={"jobmanager.scheduler": "AdaptiveBatch"})
    env.from_source(Csv("/in"), "rows").rebalance().sink_to(Parquet("/out"))
    compiled = compile_pipeline(env.pipeline())
    with pytest.raises(InvalidPipelineError, match="no execution graph before it runs"):
        render(compiled, Graph.EXECUTION, Format.TEXT)


def test_the_command_takes_graph_and_format(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(Path(__file__).parents[2])

    def explain(*options: str) -> tuple[int, str]:
        done = CliRunner().invoke(app, ["explain", "pipelines/flights.py", *options])
        return done.exit_code, done.stdout

    compiled = EXAMPLES["flights"]
    shown = render(compiled, Graph.JOB, Format.MERMAID) + "\n"
    assert explain("--graph", "job", "--format", "mermaid") == (0, shown)
    document = render(compiled, Graph.STREAM, Format.JSON) + "\n"
    assert explain("--graph", "stream", "--json") == (0, document)
    for contradiction in (
        ("--json", "--format", "dot"),
        ("--graph", "execution", "--format", "flink"),
        ("--spark", "--graph", "job"),
        ("--spark", "--format", "mermaid"),
        ("--graph", "plan"),
    ):
        assert explain(*contradiction)[0] == 2
