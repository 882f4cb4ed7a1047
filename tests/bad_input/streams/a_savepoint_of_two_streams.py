from graph_compiler import Json, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment(
    "sales", config={"execution.runtime-mode": "AUTOMATIC", "execution.savepoint.path": "/backup/sales"}
)
for name in ("orders", "returns"):
    rows = env.from_source(Json(f"/in/{name}", schema="id INT"), name, unbounded=True).uid(name)
    rows.sink_to(Parquet(f"/out/{name}"), mode="append").name(f"{name}_out")
# graph-compiler validate says:
# pipelines/a_savepoint_of_two_streams.py: pipeline 'sales' has 1 problem
#   option 'execution.savepoint.path' is set, and it has 2 streams
#     allowed: a pipeline with one stream, whose savepoint it is
#     declared at pipelines/a_savepoint_of_two_streams.py:3
