"""Files, jars and Python environments in YAML: options under the same keys, relative to the same folder."""

from pathlib import Path

from graph_compiler import Csv, Parquet, StreamExecutionEnvironment
from graph_compiler.declaration.locations import declaring_at
from graph_compiler.errors import SourceLocation
from graph_compiler.projects.yaml.export import export_pipeline
from graph_compiler.projects.yaml.reader import read_pipeline

TEXT = """
name: sales
config:
  pipeline.cached-files: name:rates.csv,path:data/rates.csv
  pipeline.jars: data/one.jar;data/absent.jar
  python.archives: data/env.zip#environment
sources: {orders: {csv: /in}}
sinks: {out: {from: orders, sink_to: {parquet: /out}}}
"""


def project(folder: Path) -> Path:
    for name in ("pipelines", "data"):
        (folder / name).mkdir()
    for name in ("rates.csv", "one.jar", "env.zip"):
        (folder / "data" / name).write_text("1")
    return folder


def test_a_path_starts_at_the_projects_folder(tmp_path: Path) -> None:
    file = project(tmp_path) / "pipelines" / "sales.yaml"
    file.write_text(TEXT)
    artifacts = read_pipeline(file).artifacts
    assert {each.name: each.path for each in artifacts.found} == {
        "rates.csv": f"{tmp_path}/data/rates.csv",
        "one.jar": f"{tmp_path}/data/one.jar",
        "environment": f"{tmp_path}/data/env.zip",
    }
    assert [problem.message for problem in artifacts.problems] == [f"there is no file {tmp_path}/data/absent.jar"]


def test_an_exported_pipeline_names_the_same(tmp_path: Path) -> None:
    module = project(tmp_path) / "pipelines" / "sales.py"
    with declaring_at(SourceLocation(str(module), 1)):
        env = StreamExecutionEnvironment("sales")
    env.add_files(tmp_path / "data" / "rates.csv")
    env.add_jars("data/one.jar")
    env.add_python_archive("data/env.zip", "environment")
    env.from_source(Csv("/in"), "in").sink_to(Parquet("/out"))
    text = export_pipeline(env.pipeline(), tmp_path)
    assert str(tmp_path) not in text
    module.with_suffix(".yaml").write_text(text)
    again = read_pipeline(module.with_suffix(".yaml")).artifacts
    assert again == env.pipeline().artifacts
    assert len(again.found) == 3
