from graph_compiler import Csv, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales", params={"since": None})
orders = env.from_source(Csv("/in/orders.csv"), "orders")
orders.sink_to(Parquet("/out"))
# graph-compiler validate says:
# pipelines/a_parameter_of_a_bad_type.py: pipeline 'sales' has 1 problem
#   params.since: its default is None
#     allowed: a str, int, float, bool or date, a list of one of them, or a mapping with one as its 'default'
#     hint: name its type in SQL: {"default": …, "sql_type": "DECIMAL(4, 2)"}; in a model, Field(…, json_schema_extra={"sql_type": "DATE"})
#     declared at pipelines/a_parameter_of_a_bad_type.py:3
