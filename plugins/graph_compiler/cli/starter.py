"""What `graph-compiler new` writes: a small runnable pipeline, its test, and a Dag file with its schedule.

`@NAME@` is replaced by the pipeline's name.
"""

from __future__ import annotations

from collections.abc import Mapping

from graph_compiler.identifiers import PIPELINES

_PIPELINE = '''"""How much has each customer paid?"""

from pathlib import Path

from graph_compiler import Parquet, StreamExecutionEnvironment, Values

PROJECT = Path(__file__).parents[1]

# A run may give other values: `graph-compiler run @NAME@ --param at_least=10`, or Airflow's trigger form.
env = StreamExecutionEnvironment(
    "@NAME@", params={"output": f"{PROJECT}/output/@NAME@", "at_least": 5}
)

# Rows to begin with. Your own: Csv("/data/orders.csv"), Parquet(…), Jdbc(…), Table(…).
ORDERS = [("ann", 20.0), ("ann", 4.5), ("bob", 3.0), ("eve", 7.25), ("eve", None)]
orders = env.from_source(Values(ORDERS, "customer STRING, amount DOUBLE"), "orders")

# Expressions are Spark SQL; `:at_least` is the parameter. `dry-run` checks them without the data.
paid = orders.filter("amount IS NOT NULL").name("paid")
totals = (
    paid.key_by("customer")
    .aggregate(orders="count(*)", total="sum(amount)")
    .name("totals")
    .filter("total >= :at_least")
    .name("large_totals")
)

# Jinja works in paths and tables. The old rows there are replaced once all new ones are written.
totals.sink_to(Parquet("{{ params.output }}/totals")).name("totals_by_customer")
'''

_YAML = """# yaml-language-server: $schema=../schemas/pipeline.schema.json
# How much has each customer paid?
name: @NAME@
# A run may give other values: `graph-compiler run @NAME@ --param at_least=10`, or Airflow's trigger form.
params:
  output: {default: output/@NAME@, format: path}
  at_least: 5

sources:
  # Rows to begin with. Your own: {csv: /data/orders.csv}, {parquet: …}, {jdbc: …}, {table: …}.
  orders:
    values: [[ann, 20.0], [ann, 4.5], [bob, 3.0], [eve, 7.25], [eve, null]]
    schema: customer STRING, amount DOUBLE

steps:
  # Expressions are Spark SQL; `:at_least` is the parameter. `dry-run` checks them without the data.
  - name: paid
    from: orders
    filter: amount IS NOT NULL
  - name: totals
    key_by: customer
    aggregate: {orders: count(*), total: sum(amount)}
  - name: large_totals
    filter: total >= :at_least

sinks:
  # Jinja works in paths and tables. The old rows there are replaced once all new ones are written.
  totals_by_customer:
    from: large_totals
    sink_to: {parquet: "{{ params.output }}/totals"}
"""

_TEST = '''"""@NAME@ computes the expected rows, and compiles to the expected tasks."""

@IMPORT@

pytest_plugins = ["graph_compiler.testing.pytest_plugin"]


def test_who_has_paid_enough(pipeline_run):
    orders = [
        {"customer": "ann", "amount": 20.0},
        {"customer": "bob", "amount": 3.0},
        {"customer": "eve", "amount": None},
    ]
    result = pipeline_run(env, {"orders": orders}, params={"at_least": 5})
    result.assert_rows("large_totals", [{"customer": "ann", "total": 20.0}])


def test_it_is_one_task(compiled_plan):
    compiled_plan(env).assert_tasks("totals_by_customer")
'''

_OF_MODULE = "from pipelines.@NAME@ import env"
_OF_YAML = """from pathlib import Path

from graph_compiler.testing import load_pipeline

env = load_pipeline(Path(__file__).parents[1] / "pipelines" / "@NAME@.yaml")"""

_DAG = '''"""When @NAME@ runs, as an Airflow Dag."""

@LINES@'''
_DAG_LINES = """from graph_compiler.airflow_backend import build_dag
from @MODULE@ import env

# None: only when triggered. Or, for every day: schedule="@daily", start_date=datetime(…).
dag = build_dag(env, schedule=None)
"""


_ALL = '"""A Dag of each pipeline in YAML, and of each module with a `schedule=`."""\n\n'


def dag_file(module: str) -> str:
    """Return the lines of a Dag file for the pipeline that a module declares."""
    return _DAG_LINES.replace("@MODULE@", module)


ALL_PIPELINES = """from pathlib import Path

from graph_compiler.airflow_backend import load_dags

globals().update(load_dags(Path(__file__).parents[1] / "pipelines"))
"""
"""A Dag file of all pipelines that need none of their own."""


def starter_files(name: str, *, in_yaml: bool, has_loader: bool) -> Mapping[str, str]:
    """Return the text of each file by its path.

    YAML   Pipelines share one Dag file, which is there if the folder `has_loader`.
    """
    texts = (
        {
            f"{PIPELINES}/{name}.yaml": _YAML,
            f"tests/test_{name}.py": _TEST.replace("@IMPORT@", _OF_YAML),
            **({} if has_loader else {"dags/all_pipelines.py": _ALL + ALL_PIPELINES}),
        }
        if in_yaml
        else {
            f"{PIPELINES}/{name}.py": _PIPELINE,
            f"tests/test_{name}.py": _TEST.replace("@IMPORT@", _OF_MODULE),
            f"dags/{name}.py": _DAG.replace("@LINES@", dag_file(f"{PIPELINES}.{name}")),
        }
    )
    return {path: text.replace("@NAME@", name) for path, text in texts.items()}
