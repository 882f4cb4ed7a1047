# graph-compiler validate says:
# pipelines/an_empty_module.py: pipeline 'an_empty_module' has 1 problem
#   pipelines/an_empty_module.py has no StreamExecutionEnvironment called 'env'
#     hint: env = StreamExecutionEnvironment("an_empty_module")
#     declared at pipelines/an_empty_module.py:1
