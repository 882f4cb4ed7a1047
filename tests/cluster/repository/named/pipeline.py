"""A pipeline that names a file, a jar and a Python environment, all of them beside this module."""

from graph_compiler import Csv, Parquet, StreamExecutionEnvironment
from named import functions

env = StreamExecutionEnvironment(
    "named",
    params={"input": "/data/numbers.csv", "output": "/data"},
    config={"python.executable": "environment/bin/python"},
)
env.add_files("rate.txt")
env.add_jars("twice.jar")
env.add_python_archive("packed.tar.gz", "environment")
numbers = env.from_source(Csv("{{ params.input }}", schema="x BIGINT"), "numbers")
doubled = numbers.transform(functions.in_java).name("doubled").stage("two tasks")
read = doubled.map_partitions(
    functions.in_python,
    "x BIGINT, doubled BIGINT, driver DOUBLE, executor DOUBLE, word STRING, prefix STRING",
)
read.name("read").sink_to(Parquet("{{ params.output }}/read")).name("rows")
