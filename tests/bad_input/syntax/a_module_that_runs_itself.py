from graph_compiler import Csv, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales")
env.from_source(Csv("/in"), "orders").filter(" ").name("paid").sink_to(Parquet("/out"))
env.execute("Daily sales")

# graph-compiler validate says:
# pipelines/a_module_that_runs_itself.py: pipeline 'sales' has 2 problems
#   paid: it has an empty expression
#     allowed: Spark SQL
#     declared at pipelines/a_module_that_runs_itself.py:4
#   execute() was called, but a pipeline's module only declares the pipeline; the pipeline's name is that of its environment, 'sales'
#     allowed: a module that ends after its last sink_to(…)
#     hint: remove the call; `graph-compiler run NAME --in-process` runs the pipeline now, `graph-compiler run NAME` under Airflow, `graph-compiler submit NAME` in an Airflow with a scheduler, and build_dag(env) on a schedule
#     declared at pipelines/a_module_that_runs_itself.py:5
