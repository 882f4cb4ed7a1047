"""Runs that remember: new files of a folder, added to a total and to a log, and the partition of the run's day.

payments (only_new) ─┬─▶ log (append)
                     └─▶ added, with before (from_target) ─▶ totals (overwrite)
of_the_day ─▶ positive ─▶ by_day (overwrite-partitions, the partition of the day)

Totals do not depend on the order of runs, so any of them may come first.
"""

from graph_compiler import Json, Parquet, StreamExecutionEnvironment

SCHEMA = "id INT, account INT, amount INT"

env = StreamExecutionEnvironment("payments", params={"input": "/in", "output": "/out"})
new = env.from_source(Json("{{ params.input }}/payments/*", schema=SCHEMA), "new", only_new=True).uid("new")
paid = new.filter("amount IS NOT NULL").name("paid").stage("two tasks read it")
paid.sink_to(Parquet("{{ params.output }}/log"), mode="append", files=2).name("log")

totals = Parquet("{{ params.output }}/totals")
before = env.from_target(totals, "before", schema="account INT, total BIGINT", backfill="latest")
added = before.union(paid.select("account", total="CAST(amount AS BIGINT)").name("amounts"))
added.key_by("account").aggregate(total="sum(total)").name("added").sink_to(totals, files=2).name("totals")

of_the_day = env.from_source(Json("{{ params.input }}/payments/{{ ds }}", schema=SCHEMA), "of_the_day")
of_the_day.filter("amount > 0").name("positive").with_columns(day="DATE(:run_date)").name("dated").sink_to(
    Parquet("{{ params.output }}/by_day"),
    mode="overwrite-partitions",
    partition_by=("day", "account"),
    partitions={"day": "{{ ds }}"},
).name("by_day")
