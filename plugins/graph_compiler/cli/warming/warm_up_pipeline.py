"""The pipeline that is run to make a class archive: the connectors and operators that most pipelines have."""

from __future__ import annotations

from pathlib import Path

from graph_compiler.declaration.connectors.files import Csv, Json, Parquet
from graph_compiler.declaration.environment import StreamExecutionEnvironment
from graph_compiler.declaration.pipeline import Pipeline

ROWS = 200


def warm_up_pipeline(folder: Path) -> Pipeline:
    """Return the pipeline of two tasks, which reads and writes below a folder; `write_input` writes its input."""
    env = StreamExecutionEnvironment("warm_up", params={"least": 1.5}, config={"staging.release": "LAST_CONSUMER"})
    schema = "id INT, customer INT, amount DOUBLE, day DATE, note STRING"
    orders = env.from_source(Csv(f"{folder}/orders.csv", schema=schema), "orders")
    customers = env.from_source(Json(f"{folder}/customers.json", schema="customer INT, name STRING"), "customers")
    kept = orders.filter("amount > :least", rejects="small")
    known = (
        kept.expect("has_customer", "customer IS NOT NULL")
        .join(customers, on="customer", how="left")
        .stage("its consumers read Parquet")
        .with_columns(
            size="CASE WHEN amount > 50 THEN 'large' ELSE upper(substr(note, 1, 3)) END",
            month="date_trunc('month', day)",
        )
    )
    sums = known.key_by("customer", "month").aggregate(
        total="sum(amount)", orders="count(*)", mean="avg(amount)", notes="count(DISTINCT note)"
    )
    named = sums.join(customers.broadcast(), on="customer")
    first = known.deduplicate("customer", order_by="day, id")
    named.sort("customer", "month").sink_to(Parquet(f"{folder}/out/sums"))
    named.top_n(10, "total DESC, customer").sink_to(Csv(f"{folder}/out/largest"))
    first.union(known.filter("amount > 90")).sink_to(Parquet(f"{folder}/out/first"), mode="append", partition_by="size")
    kept.get_side_output("small").sink_to(Json(f"{folder}/out/small"))
    return env.pipeline()


def write_input(folder: Path) -> None:
    """Write the rows of both sources."""
    orders = [
        f"{row},{row % 17},{row % 101}.5,2024-{1 + row % 12:02}-{1 + row % 28:02},note {row % 7}" for row in range(ROWS)
    ]
    (folder / "orders.csv").write_text("\n".join(["id,customer,amount,day,note", *orders, ""]), "utf-8")
    customers = [f'{{"customer": {row}, "name": "customer {row}"}}' for row in range(17)]
    (folder / "customers.json").write_text("\n".join([*customers, ""]), "utf-8")
