from graph_compiler import Csv, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales")
env.from_source(Csv("/in"), "orders").sink_to(Parquet("/out"))
env.execute_async().get_job_execution_result().result()

# graph-compiler validate says:
# pipelines/a_module_that_waits_for_its_job.py: pipeline 'sales' has 1 problem
#   execute_async() was called, but a pipeline's module only declares the pipeline
#     allowed: a module that ends after its last sink_to(…)
#     hint: remove the call; `graph-compiler run NAME --in-process` runs the pipeline now, `graph-compiler run NAME` under Airflow, `graph-compiler submit NAME` in an Airflow with a scheduler, and build_dag(env) on a schedule
#     declared at pipelines/a_module_that_waits_for_its_job.py:5
