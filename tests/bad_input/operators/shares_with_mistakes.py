from graph_compiler import Csv, Parquet, StreamExecutionEnvironment, param

env = StreamExecutionEnvironment("sales", params={"share": 0.05, "percent": 5.0, "text": "5 %"})
orders = env.from_source(Csv("/in/orders.csv"), "orders")
orders.expect("paid", "amount > 0", max_share="5 %")
orders.expect("paid", "amount > 0", max_share="0.05")
orders.expect("paid", "amount > 0", max_share=True)
orders.expect("paid", "amount > 0", max_share=(0, 5))
orders.expect("paid", "amount > 0", max_share=param("percent"))
orders.expect("paid", "amount > 0", max_share=param("text"))
orders.expect("paid", "amount > 0", max_share=0.05, to="unpaid")
orders.expect("paid", "amount > 0", max_share=0.05, on_violation="drop")
orders.expect("paid", "amount > 0", at_most=0.05)
orders.expect("paid", "amount > 0", 0.05)
orders.expect("paid", "amount > 0", max_share=param("share")).sink_to(Parquet("/out"))
# graph-compiler validate says:
# pipelines/shares_with_mistakes.py: pipeline 'sales' has 10 problems
#   after 'orders': expect was given max_share='5 %'
#     allowed: a number, or param("name")
#     declared at pipelines/shares_with_mistakes.py:5
#   after 'orders': expect was given max_share='0.05'
#     allowed: a number, or param("name")
#     declared at pipelines/shares_with_mistakes.py:6
#   after 'orders': expect was given max_share=True
#     allowed: a number, or param("name")
#     declared at pipelines/shares_with_mistakes.py:7
#   after 'orders': expect was given max_share=(0, 5)
#     allowed: a number, or param("name")
#     declared at pipelines/shares_with_mistakes.py:8
#   after 'orders': contract 'paid' has max_share=param('percent'), which is 5.0 by default
#     allowed: 0 or more, less than 1: 0.05 is 5 %
#     declared at pipelines/shares_with_mistakes.py:9
#   after 'orders': contract 'paid' has max_share=param('text'), which is '5 %' by default
#     allowed: a number
#     declared at pipelines/shares_with_mistakes.py:10
#   after 'orders': contract 'paid' has both max_share= and to='unpaid'
#     allowed: max_share with warn and fail
#     hint: to limit the rows that leave the stream, put a contract with on_violation="fail" and max_share before this one
#     declared at pipelines/shares_with_mistakes.py:11
#   after 'orders': contract 'paid' has both max_share= and on_violation='drop'
#     allowed: max_share with warn and fail
#     hint: to limit the rows that leave the stream, put a contract with on_violation="fail" and max_share before this one
#     declared at pipelines/shares_with_mistakes.py:12
#   after 'orders': expect has no parameter 'at_most'
#     allowed: expect(contract, condition, on_violation=None, to=None, max_share=None)
#     declared at pipelines/shares_with_mistakes.py:13
#   after 'orders': expect was given too many arguments: 0.05
#     allowed: expect(contract, condition, on_violation=None, to=None, max_share=None)
#     declared at pipelines/shares_with_mistakes.py:14
