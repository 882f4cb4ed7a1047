"""Pipelines as YAML files: the fluent API's calls, one to a step, under the names they have in Python.

    text → tree.py (nodes with places, within limits) → pipeline_spec.py (pydantic models) → declare.py (the calls)

The models' fields are made from the signatures of the methods and connectors themselves (forms.py), so that what is
added to the Python API has its YAML form by that. pydantic and PyYAML are needed where a file is read, and nowhere
else: nothing that Spark's driver imports may import this.
"""
