from graph_compiler import Json, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("hidden_files", config={"execution.runtime-mode": "AUTOMATIC"})
options = {"ignoredPathSegmentRegex": "^[.]"}
new = env.from_source(Json("/new", schema="k INT", options=options), "new", only_new=True).uid("new")
new.sink_to(Parquet("/out/new"), mode="append").name("new_rows").uid("new_rows")
arriving = env.from_source(Json("/arriving", schema="k INT", options=options), "arriving", unbounded=True)
arriving.uid("arriving").sink_to(Parquet("/out/arriving"), mode="append").name("arriving_rows")
# graph-compiler validate says:
# pipelines/hidden_files.py: pipeline 'hidden_files' has 2 problems
#   new: its option ignoredPathSegmentRegex says which files Spark leaves out, and what is new is found without it: some files would never be read
#     allowed: without the option, files whose names begin with . or _ are left out
#     hint: let such files arrive under other names
#     declared at pipelines/hidden_files.py:5
#   arriving: its option ignoredPathSegmentRegex says which files Spark leaves out, and what is new is found without it: some files would never be read
#     allowed: without the option, files whose names begin with . or _ are left out
#     hint: let such files arrive under other names
#     declared at pipelines/hidden_files.py:7
