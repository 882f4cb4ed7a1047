from graph_compiler import Csv, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales", parms={"least": 3}, config={"staging.ttl": "7 d"})
orders = env.from_source(Csv("/in/orders.csv", nullvalue="NA"), "orders")
prices = env.from_source(Csv("/in/prices.csv"), "prices")
prices.join(prices, on="id", how="outer").sink_to(Parquet("/out/joined"))
prices.filter("price > :least").sink_to(Parquet("/out/prices"))
# graph-compiler validate says:
# pipelines/a_wrong_environment_among_other_mistakes.py: pipeline 'sales' has 3 problems
#   StreamExecutionEnvironment has no parameter 'parms'
#     allowed: StreamExecutionEnvironment(name, config=None, params=None, schedule=None, description=None, tags=(), airflow=None)
#     hint: did you mean 'params'?
#     declared at pipelines/a_wrong_environment_among_other_mistakes.py:3
#   Csv has no parameter 'nullvalue'
#     allowed: Csv(path, schema=None, on_schema_change=None, options=(), if_missing=None, on_misfit=None, rejects=None, header=True, null_value='')
#     hint: did you mean 'null_value'?
#     declared at pipelines/a_wrong_environment_among_other_mistakes.py:4
#   after 'prices': there is no join type 'outer'
#     allowed: inner, left, right, full, semi, anti and cross
#     hint: did you mean 'full'?
#     declared at pipelines/a_wrong_environment_among_other_mistakes.py:6
