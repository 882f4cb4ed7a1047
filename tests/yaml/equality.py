"""What two declarations compile to, without their line numbers."""

from dataclasses import replace

from graph_compiler.compiler.pipeline_compiler import compile_pipeline
from graph_compiler.declaration import Pipeline
from graph_compiler.deployment.describe.region_descriptors import describe_regions
from graph_compiler.deployment.documents.wire import Json, to_wire


def without_lines(pipeline: Pipeline) -> Pipeline:
    transformations = tuple(replace(t, declared_at=None) for t in pipeline.transformations)
    return replace(pipeline, transformations=transformations)


def compiled(pipeline: Pipeline) -> Json:
    """Return regions, ids, fingerprints and plan ids, as they cross to Spark."""
    return [to_wire(region) for region in describe_regions(compile_pipeline(pipeline))]


def assert_equal(found: Pipeline, wanted: Pipeline) -> None:
    """Assert that two declarations are equal: their values, including ids, and everything compiled from them."""
    found, wanted = without_lines(found), without_lines(wanted)
    assert found.transformations == wanted.transformations
    assert found == wanted
    assert compiled(found) == compiled(wanted)
