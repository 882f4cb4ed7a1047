"""Cases are run as the tests of `spark` run whole pipelines: each region through its descriptor's JSON."""

from tests.spark.conftest import run_pipeline

__all__ = ["run_pipeline"]
