from pipelines import unreadable
# graph-compiler validate says:
# pipelines/a_helper_with_a_syntax_error.py: pipeline 'a_helper_with_a_syntax_error' has 1 problem
#   not valid Python: '(' was never closed
#     declared at pipelines/unreadable.py:1:10
