from graph_compiler import Csv, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("daily sales")
prices = env.from_source(Csv("/in/prices.csv"), "prices")
prices.limit(-1).sink_to(Parquet("/out/prices"))
prices.filter("a > 0", "b > 0").sink_to(Parquet("/out/more"))
# graph-compiler validate says:
# pipelines/a_bad_name_among_other_mistakes.py: pipeline 'daily sales' has 2 problems
#   'daily sales' cannot be a pipeline's name
#     allowed: letters, digits, '_', '-' and '.', at most 250 of them
#     declared at pipelines/a_bad_name_among_other_mistakes.py:3
#   after 'prices': filter was given too many arguments: 'b > 0'
#     allowed: filter(condition, rejects=None)
#     declared at pipelines/a_bad_name_among_other_mistakes.py:6
