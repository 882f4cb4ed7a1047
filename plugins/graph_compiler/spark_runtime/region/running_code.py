"""The code that a driver runs, which must be that of an earlier try if a region of it is kept (decision 58).

The process that runs the code looks, with what its own interpreter and its own Spark see: Airflow's worker, or a driver
on another host, may have a different installation.
"""

from __future__ import annotations

import platform
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePath

from pyspark.sql import SparkSession

from graph_compiler.declaration.connectors import Connector
from graph_compiler.declaration.functions import FunctionRef
from graph_compiler.declaration.operators import Operator, Sink, Source
from graph_compiler.declaration.reached_code import (
    UnknownCodeError,
    digest_of,
    own_code,
    reached_code,
)
from graph_compiler.deployment.documents.computed_by import (
    CodePart,
    ComputedBy,
    PartKind,
    why_other_code,
)
from graph_compiler.deployment.documents.descriptor import RegionDescriptor
from graph_compiler.deployment.documents.values_within import values_within
from graph_compiler.extensions import Extensible, is_foreign
from graph_compiler.identifiers import RegionId, listing
from graph_compiler.spark_runtime.spark_internals.java import java_class

_SQL = "spark.sql."
_NAMING_CODE = ("spark.jars.packages", "spark.sql.extensions")
_VARIABLE = re.compile(r"\$\{[^}]*\}?")


@dataclass(frozen=True, slots=True)
class RunningCode:
    """What one application runs, as it was before any of its regions ran: what is imported is not read again."""

    program: tuple[CodePart, ...]
    regions: Mapping[RegionId, ComputedBy]

    @classmethod
    def of(cls, regions: Iterable[RegionDescriptor], spark: SparkSession) -> RunningCode:
        """Look at the code of regions, and at the Spark that runs them."""
        program = tuple(_program(spark))
        return cls(program, {each.region_id: computed_by(each, program) for each in regions})

    def why_other(self, region: RegionDescriptor, before: ComputedBy | None) -> str | None:
        """Return why an earlier execution of a region was not computed by this code; None if it was."""
        return why_other_code(before, self.regions[region.region_id])

    def at_end(self, region: RegionDescriptor) -> ComputedBy:
        """Return by which code a region was computed; it is not known which if it has changed in the meantime."""
        before = self.regions[region.region_id]
        changed = why_other_code(before, computed_by(region, self.program))
        if changed is None or before.unknown is not None:
            return before
        return ComputedBy(parts=before.parts, unknown=f"its code changed while it ran: {changed}")


def computed_by(region: RegionDescriptor, program: tuple[CodePart, ...]) -> ComputedBy:
    """Return the code of a region as it is on this host now."""
    own = CodePart(kind=PartKind.OWN, name="graph_compiler", digest=own_code())
    try:
        reached = reached_code(sorted(set(_modules(region))))
    except UnknownCodeError as error:
        return ComputedBy(parts=(*program, own), unknown=str(error))
    modules = (
        CodePart(kind=PartKind.MODULE, name=name, digest=digest)
        for name, digest in reached.modules.items()
    )
    packages = (
        CodePart(kind=PartKind.PACKAGE, name=name, version=each.version, digest=each.build)
        for name, each in reached.packages.items()
    )
    variables = dict.fromkeys(_variables(region))
    unknown = f"it reads {listing(variables)}, whose values are not recorded" if variables else None
    return ComputedBy(parts=(*program, own, *modules, *packages), unknown=unknown)


def _modules(region: RegionDescriptor) -> Iterator[str]:
    """Yield the modules of functions, and those of operators and connectors of other packages."""
    yield from (function.module for function in values_within(region, FunctionRef))
    kinds: list[type[Extensible]] = [type(each) for each in values_within(region, Operator)]
    kinds += [type(each) for each in values_within(region, Connector)]
    for kind in kinds:
        if is_foreign(kind):
            yield from (kind.__module__, *kind.spark_modules)


def _variables(region: RegionDescriptor) -> Iterator[str]:
    """Yield the variables that Spark replaces in SQL: `${env:NAME}` is the environment's, and may be a password."""
    for each in region.operators:
        if not isinstance(each.operator, Source | Sink):
            for text in values_within(each.operator, str):
                yield from _VARIABLE.findall(text)


def _program(spark: SparkSession) -> Iterator[CodePart]:
    system = java_class(spark, "java.lang.System")
    versions = {
        "Python": platform.python_version(),
        "Spark": spark.version,
        "Java": str(system.getProperty("java.version")),
    }
    for name, version in versions.items():
        yield CodePart(kind=PartKind.PROGRAM, name=name, version=version)
    submitted = dict(spark.sparkContext.getConf().getAll())
    paths = str(system.getProperty("java.class.path")).split(":")
    paths += submitted.get("spark.jars", "").split(",")
    jars = sorted({name for path in paths if (name := PurePath(path).name).endswith(".jar")})
    yield CodePart(kind=PartKind.JARS, name="jars", digest=digest_of(dict.fromkeys(jars, b"")))
    for key, value in sorted(submitted.items()):
        # Spark knows these, so none is a password, as one of a catalog may be.
        if key in _NAMING_CODE or (key.startswith(_SQL) and spark.conf.isModifiable(key)):
            yield CodePart(kind=PartKind.SETTING, name=key, version=value)
