from graph_compiler import Csv, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales")
orders = env.from_source(Csv("/in/orders.csv"), "orders")
lines = env.from_source(Csv("/in/lines.csv"), "lines")
other = StreamExecutionEnvironment("other").from_source(Csv("/in/lines.csv"), "lines")
orders.expect_same("balanced", "sum(amount)")
orders.expect_same("balanced", "lines", "sum(amount)")
orders.expect_same("balanced", other, "sum(amount)")
orders.expect_same("balanced", lines, sum="amount")
orders.expect_same("balanced", lines, total=3)
orders.expect_same("balanced", lines, "sum(amount)", "sum(price)")
orders.expect_same("balanced", lines, "sum(amount)", on_violation="drop")
orders.expect_same("balanced", lines, "sum(amount)", to="aside")
orders.expect_same("balanced", lines, "sum(amount)", tolerance=0.01)
orders.expect_equal("balanced", lines, "sum(amount)")
orders.expect_same("balanced", lines, "sum(amount)").sink_to(Parquet("/out"))
# graph-compiler validate says:
# pipelines/equal_totals_with_mistakes.py: pipeline 'equal_totals_with_mistakes' has 10 problems
#   after 'orders': it was given 'sum(amount)'
#     allowed: streams of this environment
#     declared at pipelines/equal_totals_with_mistakes.py:7
#   after 'orders': it was given 'lines'
#     allowed: streams of this environment
#     declared at pipelines/equal_totals_with_mistakes.py:8
#   after 'orders': it was given a stream of another environment, 'other'
#     hint: ids are unique within one environment: declare both streams in the same one
#     declared at pipelines/equal_totals_with_mistakes.py:9
#   after 'orders': expect_same has no parameter 'sum'
#     allowed: expect_same(contract, other, total='count(*)', other_total=None, on_violation='warn')
#     declared at pipelines/equal_totals_with_mistakes.py:10
#   after 'orders': expect_same was given total=3
#     allowed: text
#     declared at pipelines/equal_totals_with_mistakes.py:11
#   after 'orders': expect_same was given too many arguments: 'sum(price)'
#     allowed: expect_same(contract, other, total='count(*)', other_total=None, on_violation='warn')
#     declared at pipelines/equal_totals_with_mistakes.py:12
#   after 'orders': contract 'balanced' has on_violation='drop', but no single row violates it
#     allowed: warn and fail
#     declared at pipelines/equal_totals_with_mistakes.py:13
#   after 'orders': expect_same has no parameter 'to'
#     allowed: expect_same(contract, other, total='count(*)', other_total=None, on_violation='warn')
#     declared at pipelines/equal_totals_with_mistakes.py:14
#   after 'orders': expect_same has no parameter 'tolerance'
#     allowed: expect_same(contract, other, total='count(*)', other_total=None, on_violation='warn')
#     declared at pipelines/equal_totals_with_mistakes.py:15
#   after 'orders': it cannot be loaded: `orders.expect_equal("balanced", lines, "sum(amount)")` raised AttributeError: 'DataStream' object has no attribute 'expect_equal'
#     hint: did you mean 'expect_unique'?
#     declared at pipelines/equal_totals_with_mistakes.py:16
