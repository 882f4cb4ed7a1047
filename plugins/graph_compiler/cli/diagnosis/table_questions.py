"""What is asked about formats of tables: whether one runs on the installed Spark, where its jar is, and its package.

What is missing is no warning: only pipelines with tables need it. A jar that does not fit is one, since drivers would
refuse it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from functools import partial
from glob import glob
from pathlib import Path

from graph_compiler.cli.diagnosis.question import Finding, Host, Question, ok, warning
from graph_compiler.driver_jvm.installation import spark_jars
from graph_compiler.errors import ConfigurationError
from graph_compiler.identifiers import listing
from graph_compiler.tested_versions import DELTA, ICEBERG, TableFormat, installed_version, minor_of

_CLASS_PATHS = ("spark.driver.extraClassPath", "spark.jars")
_PACKAGES = "spark.jars.packages"
_PAGE = "docs/lake.md"


def table_format(host: Host, format: TableFormat, package: str) -> Finding:
    """Find what this host has of a format of tables."""
    found = installed_version(package)
    live = f"{package} {found}" if found else f"no {package}, which validate --live needs"
    return judge_format(format, minor_of(str(installed_version("pyspark"))), list(_jars(host, format)), live)


def judge_format(format: TableFormat, spark: str, jars: list[str], live: str) -> Finding:
    """Judge the jars of a format, by their names, for a minor of Spark; `live` ends the sentence."""
    if (why := format.why_not_with(spark)) is not None:
        if jars:
            return warning(f"{why}, and there is {jars[0]}; {live}", format.hint())
        return ok(f"{why}, but on {listing(format.versions)}; only tables need one ({_PAGE}); {live}")
    artifact = format.artifact(spark)
    for jar in jars:
        made_for = re.search(format.jar_form, jar)
        if made_for is not None and made_for[1] != spark:
            return warning(f"{jar} was made for Spark {made_for[1]}, and pyspark is {spark}; {live}", f"use {artifact}")
    words = jars[0] if jars else f"no jar of it is seen; only tables need one ({_PAGE}): {artifact}"
    return ok(f"{words}; {live}")


def _jars(host: Host, format: TableFormat) -> Iterator[str]:
    """Yield the names of a format's jars: among Spark's, on the class path of this environment, and in `spark_conf`."""
    form = re.compile(f"{format.jar_form}.*")
    names = [os.path.basename(path) for path in _paths(host)]
    yield from dict.fromkeys(name for name in names if form.match(name))
    for coordinates in _setting(host, _PACKAGES).split(","):
        name = "-".join(coordinates.strip().split(":")[1:])
        if form.match(name):
            yield name


def _paths(host: Host) -> Iterator[str]:
    folder = spark_jars(host.environment)
    yield from () if folder is None else glob(str(Path(folder, "*.jar")))
    settings = [_setting(host, name).replace(",", os.pathsep) for name in _CLASS_PATHS]
    for entry in os.pathsep.join([host.environment.get("SPARK_DIST_CLASSPATH", ""), *settings]).split(os.pathsep):
        yield from glob(entry) if entry.endswith("*") else [entry]


def _setting(host: Host, name: str) -> str:
    try:
        return host.airflow.spark_conf.get(name, "")
    except ConfigurationError:  # another question reports it
        return ""


TABLE_QUESTIONS = (
    Question(ICEBERG.name, partial(table_format, format=ICEBERG, package="pyiceberg"), after="pyspark"),
    Question(DELTA.name, partial(table_format, format=DELTA, package="deltalake"), after="pyspark"),
)
