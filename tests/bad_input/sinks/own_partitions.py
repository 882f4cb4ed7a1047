from datetime import date

from graph_compiler import Csv, Jdbc, Parquet, Range, StreamExecutionEnvironment, Table

env = StreamExecutionEnvironment("sales")
rows = env.from_source(Range(0, 10), "rows").with_columns(day="'a'", city="'b'").name("typed")
own = {"day": "{{ ds }}"}
rows.sink_to(Parquet("/out/a"), partition_by="day", partitions=own).name("no_mode")
rows.sink_to(Parquet("/out/b"), mode="append", partition_by="day", partitions=own).name("append")
days = "overwrite-partitions"
rows.sink_to(Parquet("/out/c"), mode=days, partition_by="day", partitions={"dya": "{{ ds }}"}).name("misspelled")
rows.sink_to(Parquet("/out/d"), mode=days, partitions=own).name("no_folders")
rows.sink_to(Parquet("/out/e"), mode=days, partition_by="day", partitions={"day": ""}).name("empty")
rows.sink_to(Parquet("/out/f"), mode=days, partition_by="day", partitions={"day": "1", "DAY": "2"}).name("twice")
rows.sink_to(Parquet("/out/g"), mode=days, partition_by="day", partitions={"day": ["1", "2"]}).name("several")
rows.sink_to(Parquet("/out/h"), mode=days, partition_by="day", partitions="day={{ ds }}").name("text")
rows.sink_to(Parquet("/out/i"), mode=days, partition_by="day", partitions={"day": date(2024, 1, 2)}).name("date")
rows.sink_to(Parquet("/out/j"), mode=days, partition_by="day", partition={"day": "1"}).name("keyword")
rows.sink_to(Table("t"), mode=days, partition_by="day", partitions=own).name("catalog")
rows.sink_to(Jdbc("jdbc:sqlite:a", table="t"), mode="overwrite", partitions=own).name("database")
rows.sink_to(Csv("/out/k"), mode=days, partition_by="day", partitions={"day": "{{ params.dya }}"}).name("unknown")
# graph-compiler validate says:
# pipelines/own_partitions.py: pipeline 'sales' has 15 problems
#   no_mode: partitions is set, but it writes to Parquet with mode 'overwrite'
#     allowed: partitions with files and mode='overwrite-partitions'
#     declared at pipelines/own_partitions.py:8
#   append: partitions is set, but it writes to Parquet with mode 'append'
#     allowed: partitions with files and mode='overwrite-partitions'
#     declared at pipelines/own_partitions.py:9
#   misspelled: partitions names 'dya', which is not in partition_by
#     allowed: day
#     hint: did you mean 'day'?
#     declared at pipelines/own_partitions.py:11
#   no_folders: its mode is 'overwrite-partitions', but it has no partitions
#     hint: name their columns: partition_by=("day",)
#     declared at pipelines/own_partitions.py:12
#   empty: the partition of column 'day' is an empty text, which no folder can have
#     allowed: a value or a template: partitions={"day": "{{ ds }}"}; None is NULL
#     declared at pipelines/own_partitions.py:13
#   twice: partitions names column 'DAY' twice
#     allowed: one value for each
#     declared at pipelines/own_partitions.py:14
#   after 'typed': sink_to was given partitions={'day': ['1', '2']}
#     allowed: a mapping of names to text, or a whole number, or a number, or True or False
#     declared at pipelines/own_partitions.py:15
#   after 'typed': sink_to was given partitions='day={{ ds }}'
#     allowed: a mapping of names to text, or a whole number, or a number, or True or False
#     declared at pipelines/own_partitions.py:16
#   after 'typed': sink_to was given partitions={'day': datetime.date(2024, 1, 2)}
#     allowed: a mapping of names to text, or a whole number, or a number, or True or False
#     declared at pipelines/own_partitions.py:17
#   after 'typed': sink_to has no parameter 'partition'
#     allowed: sink_to(sink, mode='overwrite', keys=(), partition_by=(), files=None, partitions=None, single_file=None, merge=None)
#     hint: did you mean 'partitions'?
#     declared at pipelines/own_partitions.py:18
#   catalog: Table has no mode 'overwrite-partitions'
#     allowed: append, overwrite and error-if-exists
#     declared at pipelines/own_partitions.py:19
#   catalog: partition_by is set, but Table writes no files
#     allowed: file formats
#     declared at pipelines/own_partitions.py:19
#   catalog: partitions is set, but it writes to Table with mode 'overwrite-partitions'
#     allowed: partitions with files and mode='overwrite-partitions'
#     declared at pipelines/own_partitions.py:19
#   database: partitions is set, but it writes to Jdbc with mode 'overwrite'
#     allowed: partitions with files and mode='overwrite-partitions'
#     declared at pipelines/own_partitions.py:20
#   unknown: parameter 'dya' is not declared
#     allowed: run_date
#     hint: declare it in the pipeline's params
#     declared at pipelines/own_partitions.py:21
