from datetime import timedelta

from graph_compiler import Csv, Parquet, StreamExecutionEnvironment, param

env = StreamExecutionEnvironment("sales", params={"age": "2 days", "odd": "soon", "days": 2})
orders = env.from_source(Csv("/in/orders.csv"), "orders")
orders.expect_fresh("new", "day")
orders.expect_fresh("new", within="2 days")
orders.expect_fresh("new", "day", 2)
orders.expect_fresh("new", "day", timedelta(days=2))
orders.expect_fresh("new", ["day"], "2 days")
orders.expect_fresh("new", "day", param("odd"))
orders.expect_fresh("new", "day", param("days"))
orders.expect_fresh("new", "day", param("run_date"))
orders.expect_fresh("new", "day", "2 days", on_violation="to")
orders.expect_fresh("new", "day", "2 days", on_violation="failed")
orders.expect_fresh("new", "day", max_age="2 days")
orders.expect_fresh("new", "day", param("age")).sink_to(Parquet("/out"))
# graph-compiler validate says:
# pipelines/fresh_values_with_mistakes.py: pipeline 'sales' has 11 problems
#   after 'orders': expect_fresh was called without within
#     allowed: expect_fresh(contract, column, within, on_violation='warn')
#     declared at pipelines/fresh_values_with_mistakes.py:7
#   after 'orders': expect_fresh was called without column
#     allowed: expect_fresh(contract, column, within, on_violation='warn')
#     declared at pipelines/fresh_values_with_mistakes.py:8
#   after 'orders': expect_fresh was given within=2
#     allowed: text, or param("name")
#     declared at pipelines/fresh_values_with_mistakes.py:9
#   after 'orders': expect_fresh was given within=datetime.timedelta(days=2)
#     allowed: text, or param("name")
#     declared at pipelines/fresh_values_with_mistakes.py:10
#   after 'orders': expect_fresh was given column=['day']
#     allowed: text
#     declared at pipelines/fresh_values_with_mistakes.py:11
#   after 'orders': contract 'new' has within=param('odd'), which is 'soon' by default
#     allowed: a whole number and a unit, as in '10 minutes'; units are microsecond, millisecond, second, minute, hour, day, week, month, year; seconds may have a fraction; month and year are not beside others
#     declared at pipelines/fresh_values_with_mistakes.py:12
#   after 'orders': contract 'new' has within=param('days'), which is 2 by default
#     allowed: text
#     declared at pipelines/fresh_values_with_mistakes.py:13
#   after 'orders': contract 'new' has within=param('run_date'), which is the date of the run
#     allowed: text
#     declared at pipelines/fresh_values_with_mistakes.py:14
#   after 'orders': contract 'new' has on_violation='to', but no single row violates it
#     allowed: warn and fail
#     declared at pipelines/fresh_values_with_mistakes.py:15
#   after 'orders': contract 'new' has on_violation='failed'
#     allowed: warn and fail
#     hint: did you mean 'fail'?
#     declared at pipelines/fresh_values_with_mistakes.py:16
#   after 'orders': expect_fresh has no parameter 'max_age'
#     allowed: expect_fresh(contract, column, within, on_violation='warn')
#     declared at pipelines/fresh_values_with_mistakes.py:17
