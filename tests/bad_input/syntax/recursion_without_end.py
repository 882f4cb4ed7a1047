def read(n):
    return read(n + 1)


read(0)
# graph-compiler validate says:
# pipelines/recursion_without_end.py: pipeline 'recursion_without_end' has 1 problem
#   it cannot be loaded: `return read(n + 1)` raised RecursionError: maximum recursion depth exceeded
#     hint: via pipelines/recursion_without_end.py:5
#     declared at pipelines/recursion_without_end.py:2
