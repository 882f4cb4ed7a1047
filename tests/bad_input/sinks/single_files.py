from graph_compiler import Csv, Files, Jdbc, Json, Parquet, Range, StreamExecutionEnvironment, Text

env = StreamExecutionEnvironment("sales")
rows = env.from_source(Range(0, 10), "rows").with_columns(day="'a'").name("typed")
rows.sink_to(Csv("/out/a/report.csv")).name("unsaid")
rows.sink_to(Json("/out/b/{{ params.shop }}_{{ ds }}.jsonl.gz")).name("unsaid_with_templates")
rows.sink_to(Csv("/out/c/log.CSV"), mode="append").name("append_unsaid")
rows.sink_to(Csv("/out/d/log.csv"), mode="append", single_file=True).name("append")
rows.sink_to(Csv("/out/e.csv"), partition_by="day", single_file=True).name("folders")
rows.sink_to(Csv("/out/f.csv"), files=4, single_file=True).name("several")
rows.sink_to(Parquet("/out/g.parquet"), single_file=True).name("parquet")
rows.sink_to(Jdbc("jdbc:sqlite:a", table="t"), single_file=True).name("database")
rows.sink_to(Csv("/out/i.csv", options={"compression": "gzip"}), single_file=True).name("hides_compression")
rows.sink_to(Text("/out/j.txt.gz"), single_file=True).name("claims_compression")
rows.sink_to(Files(format="xml", path="/out/k/"), single_file=True).name("slash")
rows.sink_to(Csv("/out/l.csv", options={"maxRecordsPerFile": 100}), single_file=True).name("divided")
rows.sink_to(Csv("/out/m.csv"), single_file="yes").name("text")
rows.sink_to(Csv("/out/n.csv"), single=True).name("keyword")
rows.sink_to(Csv("/out/o.csv", single_file=True)).name("in_the_connector")
rows.sink_to(Csv("/out/p.csv"), single_file=True).name("twice")
rows.sink_to(Csv("/out/p.csv"), single_file=True).name("twice_again")
rows.sink_to(Csv("/out/a")).name("around_a_file")
# graph-compiler validate says:
# pipelines/single_files.py: pipeline 'sales' has 18 problems
#   unsaid: its target '/out/a/report.csv' has the name of a file, and would become a folder
#     allowed: single_file=True for one file; single_file=False for a folder of this name
#     hint: single_file=False keeps what earlier versions have written there
#     declared at pipelines/single_files.py:5
#   unsaid_with_templates: its target '/out/b/{{ params.shop }}_{{ ds }}.jsonl.gz' has the name of a file, and would become a folder
#     allowed: single_file=True for one file; single_file=False for a folder of this name
#     hint: single_file=False keeps what earlier versions have written there
#     declared at pipelines/single_files.py:6
#   unsaid_with_templates: parameter 'shop' is not declared
#     allowed: run_date
#     hint: declare it in the pipeline's params
#     declared at pipelines/single_files.py:6
#   append_unsaid: its target '/out/c/log.CSV' has the name of a file, and would become a folder
#     allowed: single_file=True for one file; single_file=False for a folder of this name
#     hint: single_file=False keeps what earlier versions have written there
#     declared at pipelines/single_files.py:7
#   append: single_file is True, and its mode is 'append': a file is replaced as a whole
#     allowed: overwrite and error-if-exists
#     hint: a folder keeps rows: single_file=False, or a path without the ending of a file
#     declared at pipelines/single_files.py:8
#   folders: single_file is True, and partition_by makes a folder for each value
#     allowed: one of them
#     declared at pipelines/single_files.py:9
#   several: single_file is True, and files is 4
#     allowed: one of them
#     declared at pipelines/single_files.py:10
#   parquet: single_file is set, and Parquet is not written as one file
#     allowed: single_file for Csv, Json, Text, and Files of csv, json, text or xml
#     hint: files=1 writes a folder with one file
#     declared at pipelines/single_files.py:11
#   database: single_file is set, and Jdbc is not written as one file
#     allowed: single_file for Csv, Json, Text, and Files of csv, json, text or xml
#     declared at pipelines/single_files.py:12
#   hides_compression: its target is '/out/i.csv': its rows are compressed (.gz), and readers expect a file that is not compressed by the name 'i.csv'
#     allowed: a name that ends as its compression does: report.csv.gz with compression='gzip'
#     declared at pipelines/single_files.py:13
#   claims_compression: its target is '/out/j.txt.gz': its rows are not compressed, and readers expect a file that is compressed (.gz) by the name 'j.txt.gz'
#     allowed: a name that ends as its compression does: report.csv.gz with compression='gzip'
#     declared at pipelines/single_files.py:14
#   slash: single_file is True, and its path '/out/k/' is that of a folder
#     allowed: /out/report.csv
#     declared at pipelines/single_files.py:15
#   divided: single_file is True, and option 'maxRecordsPerFile' divides its rows
#     allowed: one of them
#     declared at pipelines/single_files.py:16
#   after 'typed': sink_to was given single_file='yes'
#     allowed: True or False
#     declared at pipelines/single_files.py:17
#   after 'typed': sink_to has no parameter 'single'
#     allowed: sink_to(sink, mode='overwrite', keys=(), partition_by=(), files=None, partitions=None, single_file=None, merge=None)
#     hint: did you mean 'single_file'?
#     declared at pipelines/single_files.py:18
#   Csv has no parameter 'single_file'
#     allowed: Csv(path, schema=None, on_schema_change=None, options=(), if_missing=None, on_misfit=None, rejects=None, header=True, null_value='')
#     hint: it belongs to the sink: sink_to(Csv(path), single_file=True)
#     declared at pipelines/single_files.py:19
#   twice_again: it writes /out/p.csv, and 'twice' writes /out/p.csv (pipelines/single_files.py:20)
#     hint: give each its own target; union(…) combines two streams into one sink
#     declared at pipelines/single_files.py:21
#   around_a_file: it writes /out/a, and 'unsaid' writes /out/a/report.csv (pipelines/single_files.py:5)
#     hint: give each its own target; union(…) combines two streams into one sink
#     declared at pipelines/single_files.py:22
