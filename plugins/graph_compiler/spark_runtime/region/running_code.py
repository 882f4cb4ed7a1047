"""The code that a driver runs, which must be that of an earlier try if a region of it is kept (decision 58).

The process that runs the code looks, with what its own interpreter and its own Spark see: Airflow's worker, or a driver
on another host, may have a different installation.
"""

from __future__ import annotations

import platform
import re
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass
from pathlib import PurePath

from pyspark.sql import SparkSession

from graph_compiler.declaration.connectors import Connector
from graph_compiler.declaration.functions import FunctionRef
from graph_compiler.declaration.operators import Operator
from graph_compiler.declaration.reached_code import UnknownCodeError, digest_of, own_code, reached_code
from graph_compiler.deployment.documents.computed_by import CodePart, ComputedBy, PartKind, why_other_code
from graph_compiler.deployment.documents.descriptor import RegionDescriptor
from graph_compiler.deployment.documents.wire import values_within
from graph_compiler.extensions import Extensible, is_foreign
from graph_compiler.identifiers import RegionId, listing
from graph_compiler.spark_runtime.executor_probe import is_local, modules_on_executors, packages_on_executors
from graph_compiler.spark_runtime.spark_internals.java import application_settings, java_property

_SQL = "spark.sql."
_NAMING_CODE = ("spark.jars.packages", "spark.sql.extensions")
_VARIABLE = re.compile(r"\$\{[^}]*\}?")


@dataclass(frozen=True, slots=True)
class RunningCode:
    """What one application runs, as it was before any of its regions ran: what is imported is not read again."""

    program: tuple[CodePart, ...]
    regions: Mapping[RegionId, ComputedBy]
    on_executors: Mapping[RegionId, ComputedBy]

    @classmethod
    def of(cls, regions: Iterable[RegionDescriptor], spark: SparkSession) -> RunningCode:
        """Find the code of regions, of the Spark that runs them, and of executors on other hosts."""
        known = tuple(regions)
        try:
            program = (*_program(spark), _own())
        except Exception as error:  # Spark has ended, for example: its first region reports that
            unknown = ComputedBy(parts=(), unknown=f"its code is not known: {_words(error)}")
            return cls((), {each.region_id: unknown for each in known}, {})
        found = {each.region_id: computed_by(each, program) for each in known}
        called = {each.region_id for each in known if modules_on_executors(each)}
        others = {} if is_local(spark) else _of_executors(spark, found, called)
        return cls(program, found, others)

    def why_other(self, region: RegionDescriptor, before: ComputedBy | None) -> str | None:
        """Return why an earlier execution of a region was not computed by this code; None if it was."""
        return why_other_code(before, self._all(region))

    def at_end(self, region: RegionDescriptor) -> ComputedBy:
        """Return by which code a region was computed; it is not known which if it has changed in the meantime."""
        before = self.regions[region.region_id]
        try:
            now = computed_by(region, (*self.program[:-1], _own()))
        except Exception as error:  # its rows are published: its report must say so
            now = ComputedBy(parts=(), unknown=_words(error))
        changed = why_other_code(before, now)
        if changed is None or before.unknown is not None:
            return self._all(region)
        return ComputedBy(parts=before.parts, unknown=f"its code changed while it ran: {changed}")

    def _all(self, region: RegionDescriptor) -> ComputedBy:
        on_driver = self.regions[region.region_id]
        others = self.on_executors.get(region.region_id, ComputedBy(parts=()))
        return ComputedBy(parts=(*on_driver.parts, *others.parts), unknown=on_driver.unknown or others.unknown)


def _of_executors(
    spark: SparkSession, found: Mapping[RegionId, ComputedBy], called: Set[RegionId]
) -> dict[RegionId, ComputedBy]:
    """Return what executors have of the packages of regions whose functions they call."""
    names = {id: {part.name for part in found[id].parts if part.kind is PartKind.PACKAGE} for id in sorted(called)}
    if not names:
        return {}
    try:
        installed = packages_on_executors(spark, sorted(set().union(*names.values())))
    except Exception as error:  # no Python, for example: the check of executors says so
        unknown = ComputedBy(parts=(), unknown=f"its executors could not be asked: {_words(error)}")
        return dict.fromkeys(names, unknown)
    parts: dict[str, CodePart] = {}
    for name in sorted({each.name for each in installed}):
        versions = sorted({each.version for each in installed if each.name == name})
        builds = {each.build: b"" for each in installed if each.name == name}
        parts[name] = CodePart(kind=PartKind.EXECUTORS, name=name, version=listing(versions), digest=digest_of(builds))
    return {
        id: ComputedBy(parts=tuple(parts[name] for name in sorted(parts) if name in {*own, "Python"}))
        for id, own in names.items()
    }


def computed_by(region: RegionDescriptor, program: tuple[CodePart, ...]) -> ComputedBy:
    """Return the code of a region as it is on this host now, with that of the program."""
    try:
        reached = reached_code(sorted(set(_modules(region))))
    except UnknownCodeError as error:
        return ComputedBy(parts=program, unknown=str(error))
    modules = (CodePart(kind=PartKind.MODULE, name=name, digest=digest) for name, digest in reached.modules.items())
    packages = (
        CodePart(kind=PartKind.PACKAGE, name=name, version=each.version, digest=each.build)
        for name, each in reached.packages.items()
    )
    variables = dict.fromkeys(_variables(region))
    unknown = f"it reads {listing(variables)}, but only values of parameters are recorded" if variables else None
    return ComputedBy(parts=(*program, *modules, *packages), unknown=unknown)


def _words(error: Exception) -> str:
    """Return an error without what it says, which may be rows or a password."""
    return f"{type(error).__name__} in the driver"


def _own() -> CodePart:
    return CodePart(kind=PartKind.OWN, name="graph_compiler", digest=own_code())


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
    for text in values_within(tuple(each.operator for each in region.operators), str):
        yield from _VARIABLE.findall(text)


def _program(spark: SparkSession) -> Iterator[CodePart]:
    versions = {
        "Python": platform.python_version(),
        "Spark": spark.version,
        "Java": java_property(spark, "java.version"),
    }
    for name, version in versions.items():
        yield CodePart(kind=PartKind.PROGRAM, name=name, version=version)
    submitted = application_settings(spark)
    paths = java_property(spark, "java.class.path").split(":")
    paths += submitted.get("spark.jars", "").split(",")
    jars = sorted({name for path in paths if (name := PurePath(path).name).endswith(".jar")})
    yield CodePart(kind=PartKind.JARS, name="jars", digest=digest_of(dict.fromkeys(jars, b"")))
    for key, value in sorted(submitted.items()):
        # Spark knows these, so none is a password, as one of a catalog may be.
        if key in _NAMING_CODE or (key.startswith(_SQL) and spark.conf.isModifiable(key)):
            yield CodePart(kind=PartKind.SETTING, name=key, version=value)
