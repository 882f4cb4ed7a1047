"""Four independent tasks, one for each sink mode that keeps rows of others or refuses them.

orders ─▶ appended         orders ─▶ by_class (overwrite-partitions)
orders ─▶ merged           orders ─▶ created (error-if-exists)
"""

from graph_compiler import Csv, DataStream, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment(
    "sink_modes", config={"execution.task-sharing": "false"}, params={"input": "/in", "output": "/out"}
)


def orders(reader: str) -> DataStream:
    """Return the orders with a class of 0 to 2, read by a separate source."""
    source = Csv("{{ params.input }}/orders.csv", schema="id INT, customer INT, amount INT")
    read = env.from_source(source, f"{reader}_orders")
    return read.with_columns(class_="customer % 3").name(f"{reader}_classified")


orders("appended").sink_to(Parquet("{{ params.output }}/appended"), mode="append", files=2).name("appended")
orders("by_class").sink_to(
    Parquet("{{ params.output }}/by_class"), mode="overwrite-partitions", partition_by="class_"
).name("by_class")
orders("merged").sink_to(Parquet("{{ params.output }}/merged"), mode="merge", keys="id", files=2).name("merged")
orders("created").sink_to(Parquet("{{ params.output }}/created"), mode="error-if-exists", files=2).name("created")
