from graph_compiler import Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales", config={"airflow.run-date-timezone": "Vienna"})
env.from_source(Parquet("/in"), "rows").sink_to(Parquet("/out/{{ run_date }}"))
# graph-compiler validate says:
# pipelines/a_zone_for_run_date_that_is_none.py: pipeline 'sales' has 1 problem
#   option 'airflow.run-date-timezone' is 'Vienna'
#     allowed: a time zone of the IANA database, as Europe/Vienna
#     declared at pipelines/a_zone_for_run_date_that_is_none.py:3
