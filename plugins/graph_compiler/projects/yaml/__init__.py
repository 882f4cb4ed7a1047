"""Pipelines as YAML files: the calls of the fluent API, one in each step, under their Python names.

    text → tree.py (nodes with places, within limits) → pipeline_spec.py (pydantic models) → declare.py (the calls)
    pipeline → export.py (its steps) → written_operators.py (each as its call) → text

Both directions share vocabulary.py: every call with its keys, made from signatures (forms.py), so that additions to
the Python API get a YAML form automatically. pydantic and PyYAML are only needed to read a file, so nothing that
Spark's driver imports may import this package.
"""
