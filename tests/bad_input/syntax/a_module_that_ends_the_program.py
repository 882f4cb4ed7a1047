raise SystemExit("not today")
# graph-compiler validate says:
# pipelines/a_module_that_ends_the_program.py: pipeline 'a_module_that_ends_the_program' has 1 problem
#   it cannot be loaded: `raise SystemExit("not today")` raised SystemExit: not today
#     declared at pipelines/a_module_that_ends_the_program.py:1
