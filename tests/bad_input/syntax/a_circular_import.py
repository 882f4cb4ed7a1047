from pipelines.a_circular_import import env
# graph-compiler validate says:
# pipelines/a_circular_import.py: pipeline 'a_circular_import' has 1 problem
#   it cannot be loaded: `from pipelines.a_circular_import import env` raised ImportError: cannot import name 'env' from partially initialized module 'pipelines.a_circular_import' (most likely due to a circular import)
#     declared at pipelines/a_circular_import.py:1
