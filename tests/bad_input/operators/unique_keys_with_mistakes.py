from graph_compiler import Csv, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales")
orders = env.from_source(Csv("/in/orders.csv"), "orders")
orders.expect_unique()
orders.expect_unique("one each", ["id", "day"])
orders.expect_unique("one each", columns=["id"])
orders.expect_unique("one each", on="id")
orders.expect_unique("one each", 1)
orders.expect_unique("one each", "id", on_violation="drop", to="twice")
orders.expect_unique("one each", "id", on_violation="remove")
orders.expect_unique("one each", "id", to="twice", max_share=0.1)
orders.expect_unique("one each", "id", on_violation="drop", max_share=0.1)
orders.expect_unique("one each", "id", max_share="5 %")
orders.expect_uniqe("one each", "id")
orders.expect_unique("one each", "id").sink_to(Parquet("/out"))
# graph-compiler validate says:
# pipelines/unique_keys_with_mistakes.py: pipeline 'unique_keys_with_mistakes' has 11 problems
#   after 'orders': expect_unique was called without contract
#     allowed: expect_unique(contract, *columns, on_violation=None, to=None, max_share=None)
#     declared at pipelines/unique_keys_with_mistakes.py:5
#   after 'orders': expect_unique was given ['id', 'day'] among its columns
#     allowed: text
#     declared at pipelines/unique_keys_with_mistakes.py:6
#   after 'orders': expect_unique has no parameter 'columns'
#     allowed: expect_unique(contract, *columns, on_violation=None, to=None, max_share=None)
#     declared at pipelines/unique_keys_with_mistakes.py:7
#   after 'orders': expect_unique has no parameter 'on'
#     allowed: expect_unique(contract, *columns, on_violation=None, to=None, max_share=None)
#     declared at pipelines/unique_keys_with_mistakes.py:8
#   after 'orders': expect_unique was given 1 among its columns
#     allowed: text
#     declared at pipelines/unique_keys_with_mistakes.py:9
#   after 'orders': contract 'one each' has both on_violation= and to=
#     allowed: one of the two
#     declared at pipelines/unique_keys_with_mistakes.py:10
#   after 'orders': contract 'one each' has on_violation='remove'
#     allowed: warn, drop and fail; or to="tag"
#     declared at pipelines/unique_keys_with_mistakes.py:11
#   after 'orders': contract 'one each' has both max_share= and to='twice'
#     allowed: max_share with warn and fail
#     hint: to limit the rows that leave the stream, put a contract with on_violation="fail" and max_share before this one
#     declared at pipelines/unique_keys_with_mistakes.py:12
#   after 'orders': contract 'one each' has both max_share= and on_violation='drop'
#     allowed: max_share with warn and fail
#     hint: to limit the rows that leave the stream, put a contract with on_violation="fail" and max_share before this one
#     declared at pipelines/unique_keys_with_mistakes.py:13
#   after 'orders': expect_unique was given max_share='5 %'
#     allowed: a number, or param("name")
#     declared at pipelines/unique_keys_with_mistakes.py:14
#   after 'orders': it cannot be loaded: `orders.expect_uniqe("one each", "id")` raised AttributeError: 'DataStream' object has no attribute 'expect_uniqe'
#     hint: did you mean 'expect_unique'?
#     declared at pipelines/unique_keys_with_mistakes.py:15
