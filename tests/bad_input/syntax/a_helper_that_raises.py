from pipelines import raising
# graph-compiler validate says:
# pipelines/a_helper_that_raises.py: pipeline 'a_helper_that_raises' has 1 problem
#   it cannot be loaded: `1 / 0` raised ZeroDivisionError: division by zero
#     hint: via pipelines/a_helper_that_raises.py:1
#     declared at pipelines/raising.py:1
