from graph_compiler import Csv, Parquet, StreamExecutionEnvironment, param

env = StreamExecutionEnvironment("sales", params={"least": 1000})
orders = env.from_source(Csv("/in/orders.csv"), "orders")
orders.expect_rows("none")
orders.expect_rows("negative", at_least=-1)
orders.expect_rows("crossed", at_least=10, at_most=9)
orders.expect_rows("undeclared", at_least=param("lest"))
orders.expect_rows("two\nlines", at_least=1)
orders.sink_to(Parquet("/out"))
# graph-compiler validate says:
# pipelines/limits_of_rows_that_nothing_satisfies.py: pipeline 'sales' has 6 problems
#   two\nlines: its name has a line break or another control character: 'two\nlines'
#     allowed: printable text in one line
#     declared at pipelines/limits_of_rows_that_nothing_satisfies.py:9
#   two\nlines: its contract's name has a line break or another control character: 'two\nlines'
#     allowed: printable text in one line
#     declared at pipelines/limits_of_rows_that_nothing_satisfies.py:9
#   none: it has no limit
#     allowed: at_least=1000, at_most=2000, or both
#     declared at pipelines/limits_of_rows_that_nothing_satisfies.py:5
#   negative: its at_least is -1
#     allowed: 0 or more
#     declared at pipelines/limits_of_rows_that_nothing_satisfies.py:6
#   crossed: no number of rows is at least 10 and at most 9
#     allowed: an at_most that is not less than at_least
#     declared at pipelines/limits_of_rows_that_nothing_satisfies.py:7
#   undeclared: parameter 'lest' is not declared
#     allowed: least and run_date
#     hint: did you mean 'least'?
#     declared at pipelines/limits_of_rows_that_nothing_satisfies.py:8
