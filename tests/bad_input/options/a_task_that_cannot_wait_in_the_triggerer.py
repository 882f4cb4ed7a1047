from graph_compiler import Csv, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales", config={"execution.target": "standalone", "execution.deferrable": "true"})
env.from_source(Csv("/in"), "orders").sink_to(Parquet("/out")).name("out")
# graph-compiler validate says:
# pipelines/a_task_that_cannot_wait_in_the_triggerer.py: pipeline 'sales' has 1 problem
#   the options: execution.deferrable is true, but a task of execution target 'standalone' cannot wait in Airflow's triggerer: its driver is a process of the Airflow worker; cluster mode is not possible: Spark refuses Python applications there
#     allowed: false, unset, or deploy mode cluster on yarn or kubernetes
#     declared at pipelines/a_task_that_cannot_wait_in_the_triggerer.py:3
