"""Arguments of functions in YAML: `arguments: {least: {param: least}}`."""

from pathlib import Path

from graph_compiler import param
from graph_compiler.declaration.operators import Transform
from graph_compiler.projects.yaml.export import export_pipeline
from graph_compiler.projects.yaml.reader import read_pipeline

PIPELINE = """
name: sales
params: {least: 3}
sources:
  orders: {csv: /in/orders.csv}
steps:
  - name: priced
    from: orders
    transform: tests.yaml.yaml_functions:priced
    arguments: {least: {param: least}, strict: true}
sinks:
  out: {from: priced, sink_to: {parquet: /out}}
"""


def test_arguments_are_read_and_written(tmp_path: Path) -> None:
    file = tmp_path / "sales.yaml"
    file.write_text(PIPELINE)
    pipeline = read_pipeline(file)
    (operator,) = [t.operator for t in pipeline.operators if isinstance(t.operator, Transform)]
    assert operator.arguments == (("least", param("least")), ("strict", True))
    again = tmp_path / "again.yaml"
    again.write_text(export_pipeline(pipeline))
    (second,) = [t.operator for t in read_pipeline(again).operators if isinstance(t.operator, Transform)]
    assert second == operator
