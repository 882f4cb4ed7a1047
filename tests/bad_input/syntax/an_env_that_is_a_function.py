from graph_compiler import StreamExecutionEnvironment


def env():
    return StreamExecutionEnvironment("sales")
# graph-compiler validate says:
# pipelines/an_env_that_is_a_function.py: pipeline 'an_env_that_is_a_function' has 1 problem
#   pipelines/an_env_that_is_a_function.py has no StreamExecutionEnvironment called 'env'; its 'env' is a function
#     hint: env = StreamExecutionEnvironment("an_env_that_is_a_function")
#     declared at pipelines/an_env_that_is_a_function.py:1
