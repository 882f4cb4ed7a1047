import pandsa
# graph-compiler validate says:
# pipelines/a_module_that_is_not_installed.py: pipeline 'a_module_that_is_not_installed' has 1 problem
#   it cannot be loaded: `import pandsa` raised ModuleNotFoundError: No module named 'pandsa'
#     hint: is it installed here, and is this the folder that holds pipelines/?
#     declared at pipelines/a_module_that_is_not_installed.py:1
