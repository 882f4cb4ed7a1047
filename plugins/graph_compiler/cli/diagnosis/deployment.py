"""What the deployment sets for the command line, read as `validate` and `explain` read it."""

from __future__ import annotations

from graph_compiler.cli.diagnosis.check import Check, Finding, failed, ok
from graph_compiler.cli.running.embedded_airflow import EmbeddedAirflow
from graph_compiler.errors import ConfigurationError, StagingError
from graph_compiler.identifiers import counted


def configuration(airflow: EmbeddedAirflow) -> Finding:
    """Check that our section can be found, and names a folder."""
    try:
        root = airflow.staging_root
    except ConfigurationError as error:
        return failed(error.summary, f"fix {error.origin}: docs/options.md")
    except StagingError as error:
        found = airflow.setting("staging_root")
        assert found is not None, "what is built in is a folder"
        return failed(str(error), f"set {found.origin} to a folder every worker sees")
    file = airflow.configuration_file
    return ok(f"staging root {root}; {file if file.is_file() else 'no airflow.cfg'}")


def deployment_findings(airflow: EmbeddedAirflow) -> Finding:
    """Check the options for all pipelines."""
    try:
        found = airflow.options
    except ConfigurationError as error:
        return failed(error.summary, f"fix {error.origin}: docs/options.md")
    if not found.values:
        return ok("none are set for all pipelines")
    return ok(f"{counted(len(found.values), 'option')} for all pipelines, {found.origin}")


DEPLOYMENT_CHECKS: tuple[Check[EmbeddedAirflow], ...] = (
    Check("configuration", configuration),
    Check("options", deployment_findings),
)
