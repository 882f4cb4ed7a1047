from graph_compiler import Csv, Parquet, StreamExecutionEnvironment, param

env = StreamExecutionEnvironment("sales", params={"least": 1000, "name": "many"})
orders = env.from_source(Csv("/in/orders.csv"), "orders")
orders.expect_rows(at_least=1)
orders.expect_rows("enough", 1000)
orders.expect_rows("enough", at_least="1000")
orders.expect_rows("enough", at_least=0.5)
orders.expect_rows("enough", at_leats=1)
orders.expect_rows("enough", at_least=True)
orders.expect_rows("enough", at_least=":least")
orders.expect_rows("enough", at_least=param("name"))
orders.expect_rows("enough", at_least=param("run_date"))
orders.expect_rows("enough", at_least=1, on_violation="drop")
orders.expect_rows("enough", at_least=1, on_violation="fial")
orders.expect_rows("enough", at_least=1, to="few")
orders.expect_rows("enough", at_least=1, max_share=0.1)
orders.expect_count("enough", at_least=1)
orders.expect_rows("enough", at_least=1).sink_to(Parquet("/out"))
# graph-compiler validate says:
# pipelines/limits_of_rows_with_mistakes.py: pipeline 'limits_of_rows_with_mistakes' has 14 problems
#   after 'orders': expect_rows was called without contract
#     allowed: expect_rows(contract, at_least=None, at_most=None, on_violation='warn')
#     declared at pipelines/limits_of_rows_with_mistakes.py:5
#   after 'orders': expect_rows was given too many arguments: 1000
#     allowed: expect_rows(contract, at_least=None, at_most=None, on_violation='warn')
#     declared at pipelines/limits_of_rows_with_mistakes.py:6
#   after 'orders': expect_rows was given at_least='1000'
#     allowed: a whole number, or param("name")
#     declared at pipelines/limits_of_rows_with_mistakes.py:7
#   after 'orders': expect_rows was given at_least=0.5
#     allowed: a whole number, or param("name")
#     declared at pipelines/limits_of_rows_with_mistakes.py:8
#   after 'orders': expect_rows has no parameter 'at_leats'
#     allowed: expect_rows(contract, at_least=None, at_most=None, on_violation='warn')
#     hint: did you mean 'at_least'?
#     declared at pipelines/limits_of_rows_with_mistakes.py:9
#   after 'orders': expect_rows was given at_least=True
#     allowed: a whole number, or param("name")
#     declared at pipelines/limits_of_rows_with_mistakes.py:10
#   after 'orders': expect_rows was given at_least=':least'
#     allowed: a whole number, or param("name")
#     declared at pipelines/limits_of_rows_with_mistakes.py:11
#   after 'orders': contract 'enough' has at_least=param('name'), which is 'many' by default
#     allowed: a whole number
#     declared at pipelines/limits_of_rows_with_mistakes.py:12
#   after 'orders': contract 'enough' has at_least=param('run_date'), which is the date of the run
#     allowed: a whole number
#     declared at pipelines/limits_of_rows_with_mistakes.py:13
#   after 'orders': contract 'enough' has on_violation='drop', but no single row violates it
#     allowed: warn and fail
#     declared at pipelines/limits_of_rows_with_mistakes.py:14
#   after 'orders': contract 'enough' has on_violation='fial'
#     allowed: warn and fail
#     hint: did you mean 'fail'?
#     declared at pipelines/limits_of_rows_with_mistakes.py:15
#   after 'orders': expect_rows has no parameter 'to'
#     allowed: expect_rows(contract, at_least=None, at_most=None, on_violation='warn')
#     declared at pipelines/limits_of_rows_with_mistakes.py:16
#   after 'orders': expect_rows has no parameter 'max_share'
#     allowed: expect_rows(contract, at_least=None, at_most=None, on_violation='warn')
#     declared at pipelines/limits_of_rows_with_mistakes.py:17
#   after 'orders': it cannot be loaded: `orders.expect_count("enough", at_least=1)` raised AttributeError: 'DataStream' object has no attribute 'expect_count'
#     hint: did you mean 'expect_in'?
#     declared at pipelines/limits_of_rows_with_mistakes.py:18
