from pathlib import Path

from graph_compiler import Csv, Json, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales", params={"day": "2024-01-01"})
a, b = "/in/a", "/in/b"
sources = {
    "none": Json([]),
    "twice": Json([a, "/in//a/"]),
    "inside": Json([a, b, "/in/b/more"]),
    "empty": Json([a, " "]),
    "a_path_object": Json([a, Path("/in/b")]),
    "a_set": Json({a}),
    "one_text": Json(["/in/a,/in/b", "in/c"]),
    "two_arguments": Csv(a, b),
    "keyword": Csv(paths=[a, b]),
    "missing": Csv([a, "b"], schema="id INT", if_missing="empty"),
    "new": Csv([a, b], schema="id INT"),
    "parameter": Json(["/in/{{ params.dya }}", "/in/{{ params.day }}"]),
}
for name, source in sources.items():
    rows = env.from_source(source, name, only_new=name == "new")
    rows.sink_to(Parquet(f"/out/{name}")).name(f"{name}_out")
env.from_source(Json([a, b]), "read").sink_to(Parquet(["/out/x", "/out/more"])).name("several_targets")
env.from_source(Json(["/raw/a", "/raw/b"]), "over").sink_to(Parquet("/raw/b/out")).name("over_a_source")
env.from_target(Parquet(["/old", "/older"]), "before", schema="id INT").sink_to(Parquet("/old")).name("target")
# graph-compiler validate says:
# pipelines/several_paths.py: pipeline 'sales' has 14 problems
#   Csv was given too many arguments: '/in/b'
#     allowed: Csv(path, schema=None, on_schema_change=None, options=(), if_missing=None, on_misfit=None, rejects=None, header=True, null_value='')
#     declared at pipelines/several_paths.py:15
#   Csv has no parameter 'paths'
#     allowed: Csv(path, schema=None, on_schema_change=None, options=(), if_missing=None, on_misfit=None, rejects=None, header=True, null_value='')
#     hint: did you mean 'path'?
#     declared at pipelines/several_paths.py:16
#   missing: if_missing is 'empty', and its path 'b' is a relative path: it depends on the driver's folder
#     allowed: an absolute path or a URI
#     declared at pipelines/several_paths.py:22
#   none: it has no path
#     allowed: a path or a URI, or several: ["/in/a", "/in/b"]
#     declared at pipelines/several_paths.py:22
#   twice: it has the path '/in/a' twice: rows would be read twice
#     allowed: paths that have no file in common
#     hint: leave out one of them
#     declared at pipelines/several_paths.py:22
#   inside: it has the paths '/in/b' and '/in/b/more', and one is in the other: rows would be read twice
#     allowed: paths that have no file in common
#     hint: leave out one of them
#     declared at pipelines/several_paths.py:22
#   new: it reads only what is new, and has no uid: a change of the pipeline could lose its position
#     allowed: .uid("orders"); in YAML, uid: orders
#     declared at pipelines/several_paths.py:22
#   empty: its path is empty
#     allowed: a path or a URI
#     declared at pipelines/several_paths.py:22
#   parameter: parameter 'dya' is not declared
#     allowed: day and run_date
#     hint: did you mean 'day'?
#     declared at pipelines/several_paths.py:22
#   a_path_object: path is ('/in/a', PosixPath('/in/b'))
#     allowed: text, or several values, each text
#     declared at pipelines/several_paths.py:22
#   a_set: path is {'/in/a'}
#     allowed: text, or several values, each text
#     declared at pipelines/several_paths.py:22
#   several_targets: it has 2 paths, and a sink writes to one
#     allowed: Parquet, Orc, Csv, Json, Text, Files, Jdbc with a table, Iceberg, Delta, Table, FunctionSink
#     declared at pipelines/several_paths.py:24
#   over_a_source: it replaces /raw/b/out, and 'over' reads /raw/b
#     hint: write elsewhere: a retry would read what the first attempt wrote. from_target(…) reads what was there before the run
#     declared at pipelines/several_paths.py:25
#   before: no sink of this pipeline writes /old, /older
#     allowed: a target of its sinks: /out/none, /out/twice, /out/inside, /out/empty, /out/a_path_object, /out/a_set, /out/one_text, /out/missing, /out/new, /out/parameter, /out/more, /out/x, /raw/b/out and /old
#     hint: add .sink_to(…) with the same connector; from_source(…) reads what others write
#     declared at pipelines/several_paths.py:26
