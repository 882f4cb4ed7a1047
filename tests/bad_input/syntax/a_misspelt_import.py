from graph_compiler import Parqet, StreamExecutionEnvironment

env = StreamExecutionEnvironment("sales")
# graph-compiler validate says:
# pipelines/a_misspelt_import.py: pipeline 'a_misspelt_import' has 1 problem
#   it cannot be loaded: `from graph_compiler import Parqet, StreamExecutionEnvironment` raised ImportError: cannot import name 'Parqet' from 'graph_compiler'
#     hint: did you mean 'Parquet'?
#     declared at pipelines/a_misspelt_import.py:1
