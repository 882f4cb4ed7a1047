from graph_compiler import Csv, Parquet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales")
orders = env.from_source(Csv("/in/orders.csv"), "orders")
people = env.from_source(Csv("/in/people.csv"), "people")
orders.expect_in("known", people)
orders.expect_in("known", "people", "id")
orders.expect_in("known", on="id")
orders.expect_in("known", people, on=1)
orders.expect_in("known", people, left_on="person", right_on="id")
orders.expect_in("known", people, "id", how="left")
orders.expect_in("known", people, "id", to="lost", on_violation="fail")
orders.expect_in("known", people, "id", on_violation="aside")
orders.expect_in("known", people, "id", on_violation="drop", max_share=0.1)
orders.expect_in(people, "known", "id")
orders.expect_not_in("known", people, "id")
orders.expect_in("known", people, "id").sink_to(Parquet("/out"))
# graph-compiler validate says:
# pipelines/foreign_keys_with_mistakes.py: pipeline 'foreign_keys_with_mistakes' has 11 problems
#   after 'orders': expect_in was called without on
#     allowed: expect_in(contract, other, on, on_violation=None, to=None, max_share=None)
#     declared at pipelines/foreign_keys_with_mistakes.py:6
#   after 'orders': it was given 'people'
#     allowed: streams of this environment
#     declared at pipelines/foreign_keys_with_mistakes.py:7
#   after 'orders': expect_in was called without other
#     allowed: expect_in(contract, other, on, on_violation=None, to=None, max_share=None)
#     declared at pipelines/foreign_keys_with_mistakes.py:8
#   after 'orders': expect_in was given on=1
#     allowed: text, or several values, each text, or a mapping of names to text
#     declared at pipelines/foreign_keys_with_mistakes.py:9
#   after 'orders': expect_in has no parameter 'left_on' and 'right_on'
#     allowed: expect_in(contract, other, on, on_violation=None, to=None, max_share=None)
#     declared at pipelines/foreign_keys_with_mistakes.py:10
#   after 'orders': expect_in has no parameter 'how'
#     allowed: expect_in(contract, other, on, on_violation=None, to=None, max_share=None)
#     declared at pipelines/foreign_keys_with_mistakes.py:11
#   after 'orders': contract 'known' has both on_violation= and to=
#     allowed: one of the two
#     declared at pipelines/foreign_keys_with_mistakes.py:12
#   after 'orders': contract 'known' has on_violation='aside'
#     allowed: warn, drop and fail; or to="tag"
#     declared at pipelines/foreign_keys_with_mistakes.py:13
#   after 'orders': contract 'known' has both max_share= and on_violation='drop'
#     allowed: max_share with warn and fail
#     hint: to limit the rows that leave the stream, put a contract with on_violation="fail" and max_share before this one
#     declared at pipelines/foreign_keys_with_mistakes.py:14
#   after 'orders': expect_in was given contract=<graph_compiler.declaration.streams.data_stream.DataStream o…
#     allowed: text
#     declared at pipelines/foreign_keys_with_mistakes.py:15
#   after 'orders': it cannot be loaded: `orders.expect_not_in("known", people, "id")` raised AttributeError: 'DataStream' object has no attribute 'expect_not_in'
#     hint: did you mean 'expect_in'?
#     declared at pipelines/foreign_keys_with_mistakes.py:16
