"""Three days of payments in a store: what is new, the previous version of a target, and the partition of a run."""

import json
from collections import Counter
from pathlib import Path

from pyspark.sql import SparkSession

from graph_compiler.staging.store.staging_store import StagingStore
from tests.faults.payments import env
from tests.harness.position_runs import Runs

DAYS = {
    "2024-01-01": [(1, 10, 5), (2, 20, 7)],
    "2024-01-02": [(3, 10, 1)],
    "2024-01-03": [(4, 20, -7)],  # no row for the partition of the day
}


def check_three_days(spark: SparkSession, store: StagingStore, root: str) -> None:
    """Run each day, the second twice; each payment must count once."""
    params = {"input": f"{root}/in", "output": f"{root}/out"}
    runs = Runs(env, Path("/"), spark, params, store=store, place=f"{root}/staging")
    wrong = spark.createDataFrame([(9, 9, 9)], "id INT, account INT, amount INT")
    wrong.write.parquet(f"{root}/out/by_day/day=2024-01-03/account=9")
    for day, payments in DAYS.items():
        rows = (json.dumps(dict(zip(("id", "account", "amount"), row, strict=True))) for row in payments)
        store.put(f"{root}/in/payments/{day}/a.json", "".join(f"{row}\n" for row in rows).encode())
        runs.day = day
        for _ in range(2 if day == "2024-01-02" else 1):  # it is cleared
            assert runs.run(f"run of {day}") == []
    paid = [row for rows in DAYS.values() for row in rows]
    totals: Counter[int] = Counter()
    for _, account, amount in paid:
        totals[account] += amount
    assert sorted(map(tuple, spark.read.parquet(f"{root}/out/log").collect())) == paid
    assert dict(map(tuple, spark.read.parquet(f"{root}/out/totals").collect())) == totals
    by_day = spark.read.parquet(f"{root}/out/by_day").selectExpr("string(day)", "id")
    assert sorted(map(tuple, by_day.collect())) == [("2024-01-01", 1), ("2024-01-01", 2), ("2024-01-02", 3)]
