"""Secrets on the driver: they go from its environment to a reader or writer, and nowhere else."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import replace

from pyspark.sql import SparkSession

from graph_compiler.declaration.connectors.connector import Connector
from graph_compiler.declaration.connectors.secret import VARIABLE_PREFIX, Secret, SecretText, without_values
from graph_compiler.deployment.documents.descriptor import RegionDescriptor
from graph_compiler.deployment.documents.report import Failure
from graph_compiler.deployment.documents.staging_layout import secrets_of
from graph_compiler.deployment.documents.wire import values_within
from graph_compiler.errors import SecretError
from graph_compiler.staging.store.stores import store_of

_HIDDEN = "spark.sql.redaction.options.regex"


def take_secrets(descriptor: str) -> None:
    """Take the values that lie beside a descriptor into this process's environment, and remove them there."""
    store, key = store_of(descriptor), secrets_of(descriptor)
    if (content := store.get(key)) is None:
        return
    store.delete(key)
    for name, value in json.loads(content).items():
        if name.startswith(VARIABLE_PREFIX):
            os.environ.setdefault(name, value)


def reveal(text: SecretText) -> str:
    """Return plain text unchanged, or a secret's value; raises SecretError if this process does not have it."""
    if isinstance(text, str):
        return text
    value = os.environ.get(text.variable)
    if value is None:
        raise SecretError(f"{text} has not reached the driver: {text.variable} is not set")
    return value


def reveal_all(options: Mapping[str, SecretText]) -> dict[str, str]:
    """Reveal the values of options."""
    return {key: reveal(value) for key, value in options.items()}


def redact(text: str, *declared: object) -> str:
    """Remove the values of this process's secrets from a text; JDBC drivers put passwords into messages.

    Values stay that `declared` documents name as a login, host, port or schema.
    """
    shown = {each.variable for each in values_within(declared, Secret) if not each.is_masked}
    hidden = (name for name in os.environ if name.startswith(VARIABLE_PREFIX) and name not in shown)
    return without_values(text, [os.environ[name] for name in hidden])


def redacted_failure(failure: Failure, *declared: object) -> Failure:
    """Return a failure without the values that `redact` removes."""
    return replace(failure, message=redact(failure.message, *declared))


def hide_options(spark: SparkSession, region: RegionDescriptor) -> None:
    """Make Spark hide every option that holds a secret in plans and event logs, whatever the option's name.

    By default Spark hides URLs, and options named password, secret or token.
    """
    fields = {
        field.removeprefix("options.").removeprefix("catalog.")
        for connector in values_within(region, Connector)
        for field in connector.secrets()
    }
    if fields:
        names = "|".join(re.escape(name) for name in sorted(fields))
        known = spark.conf.get(_HIDDEN, "(?i)url")
        spark.conf.set(_HIDDEN, f"{known}|(?i)(^|[.])({names})$")
