def clean(rows):
    return rows
# graph-compiler validate says:
# pipelines/no_env.py: pipeline 'no_env' has 1 problem
#   pipelines/no_env.py has no StreamExecutionEnvironment called 'env'
#     hint: env = StreamExecutionEnvironment("no_env")
#     declared at pipelines/no_env.py:1
