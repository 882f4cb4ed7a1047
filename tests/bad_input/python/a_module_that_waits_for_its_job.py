from graph_compiler import Csv, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales")
env.from_source(Csv("/in"), "orders").sink_to(Parquet("/out"))
env.execute_async().get_job_execution_result().result()

# graph-compiler validate says:
# pipelines/a_module_that_waits_for_its_job.py: pipeline 'sales' has 1 problem
#   execute_async() was called, and a pipeline's module only declares what is run
#     allowed: a module that ends behind its last sink_to(…)
#     hint: take the call away; `graph-compiler run NAME --in-process` runs it here and now, `graph-compiler run NAME` under Airflow, and build_dag(env) on a schedule
#     declared at pipelines/a_module_that_waits_for_its_job.py:5
