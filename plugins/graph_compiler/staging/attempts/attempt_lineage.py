"""What an attempt at a region has read and written: sources and staged results, sinks and staged results."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self
from urllib.parse import quote, unquote, urlsplit

from graph_compiler.declaration.connectors.file_uris import place_uri
from graph_compiler.declaration.operators import Sink, Source
from graph_compiler.declaration.parameters.parameter import ParameterValue
from graph_compiler.deployment.describe.templates import asset_uri
from graph_compiler.deployment.documents.descriptor import OperatorDescriptor, RegionDescriptor
from graph_compiler.deployment.documents.manifest import Manifest
from graph_compiler.deployment.documents.report import ExecutionReport
from graph_compiler.identifiers import IntermediateDataSetId, OperatorId, RegionId
from graph_compiler.staging.results.manifest_log import ManifestLog
from graph_compiler.stores.known_stores import dataset_names
from graph_compiler.stores.store_kind import DatasetNames

# Datasets as OpenLineage names them: a namespace for each file system, bucket or database, and a name in it.
#
# file:///data/out/delays                  file                  /data/out/delays
# hdfs://nn:8020/out                       hdfs://nn:8020        /out
# s3://lake/out/delays                     s3://lake             out/delays
# postgresql://db:5432/shop/sales/orders   postgres://db:5432    shop.sales.orders
# x-spark-table:///shop/orders             spark_catalog         shop.orders
# x-iceberg-table:///lake/shop/orders      lake                  shop.orders

_DATABASES = {"postgresql": "postgres"}
"""OpenLineage's names of databases, where they differ from those in JDBC's urls."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetName:
    """A dataset's identity, the same in every run."""

    namespace: str
    name: str

    @classmethod
    def of_uri(cls, uri: str) -> Self:
        """Return the name of a place, from the URI of its asset; a text that is no URI is a file's path."""
        place = urlsplit(uri)
        path = unquote(place.path)
        if place.scheme in ("", "file"):
            host = f"file://{place.netloc}" if place.netloc else "file"
            return cls(namespace=host, name=path)
        if place.scheme == "x-spark-table":
            return cls(namespace="spark_catalog", name=path.strip("/").replace("/", "."))
        if place.scheme == "x-iceberg-table":
            catalog, _, table = path.strip("/").partition("/")
            return cls(namespace=catalog, name=table.replace("/", "."))
        namespace = f"{_DATABASES.get(place.scheme, place.scheme)}://{place.netloc}"
        match dataset_names(place.scheme):
            case DatasetNames.PATH:
                return cls(namespace=namespace, name=path or "/")
            case DatasetNames.KEY:
                return cls(namespace=namespace, name=path.strip("/") or "/")
            case DatasetNames.TABLE:
                return cls(namespace=namespace, name=path.strip("/").replace("/", "."))

    def within(self, *parts: str) -> DatasetName:
        """Return the name of a place below this one."""
        return DatasetName(namespace=self.namespace, name="/".join([self.name.rstrip("/"), *parts]))


@dataclass(frozen=True, slots=True, kw_only=True)
class Dataset:
    """A dataset as one attempt has read or written it; None is what is not known.

    `schema` is Spark's schema JSON. `version` names one state: run and epoch of a staged result, the commit of a table.
    `rows` and `bytes` are those that were written, or all of a staged result that was read.
    """

    place: DatasetName
    schema: str | None = None
    version: str | None = None
    rows: int | None = None
    bytes: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptLineage:
    """The datasets of one attempt, each once."""

    inputs: tuple[Dataset, ...]
    outputs: tuple[Dataset, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionPlaces:
    """A region before its templates are rendered, and the parameters of the run.

    A place has one name in all runs: parameters are part of it, other templates are not.
    """

    region: RegionDescriptor
    values: Mapping[str, ParameterValue]

    def of(self, kind: type[Source | Sink]) -> Iterator[tuple[OperatorDescriptor, DatasetName]]:
        """Yield the sources or sinks that have a place which others can use."""
        for operator in self.region.operators:
            if isinstance(operator.operator, kind):
                for connector in operator.operator.connector.each_place():
                    if (uri := asset_uri(connector, self.values)) is not None:
                        yield operator, DatasetName.of_uri(uri)


def declared_lineage(regions: Sequence[RegionPlaces]) -> AttemptLineage:
    """Return what is known before anything has run: the places of sources and sinks."""
    return AttemptLineage(
        inputs=_distinct(Dataset(place=place) for each in regions for _, place in each.of(Source)),
        outputs=_distinct(Dataset(place=place) for each in regions for _, place in each.of(Sink)),
    )


def attempt_lineage(places: RegionPlaces, report: ExecutionReport | None, log: ManifestLog) -> AttemptLineage:
    """Return the datasets of an attempt that has ended; `log` is that of its run.

    One that did not finish has no outputs: it published nothing. What it has read is what it would have read.
    """
    schemas = {} if report is None else {each.operator_id: each.schema for each in report.schemas}
    sources = (Dataset(place=place, schema=schemas.get(operator.operator_id)) for operator, place in places.of(Source))
    staged = _StagedResults(places.region, log)
    if report is None or report.failure is not None:
        read = (Dataset(place=staged.place(id)) for id in staged.producers)
        return AttemptLineage(inputs=_distinct([*sources, *read]), outputs=())
    reads = (staged.at(each.result_id, each.epoch) for each in report.reads if each.result_id in staged.producers)
    return AttemptLineage(
        inputs=_distinct([*sources, *_read_by_itself(report), *reads]),
        outputs=_distinct([*_published(places, report, schemas), *staged.written(report)]),
    )


def task_lineage(regions: Sequence[AttemptLineage]) -> AttemptLineage:
    """Return the datasets of a task: those of its regions, without what one of them only hands to the next."""
    outputs = _distinct(each for region in regions for each in region.outputs)
    own = {each.place for each in outputs}
    inputs = _distinct(each for region in regions for each in region.inputs)
    return AttemptLineage(
        inputs=tuple(each for each in inputs if each.place not in own or each.version is None), outputs=outputs
    )


def _read_by_itself(report: ExecutionReport) -> Iterator[Dataset]:
    """Yield the tables and paths that SQL text and functions have read, as far as they are known by a name."""
    for each in report.sources:
        if each.again is None:
            continue
        names = [place_uri(path) for path in each.paths]
        if each.again.table is not None:
            table = each.again.table.replace("`.`", ".").strip("`").removeprefix("spark_catalog.")
            names = [f"x-spark-table:///{quote(table)}"]
        yield from (Dataset(place=DatasetName.of_uri(name)) for name in names)


def _published(places: RegionPlaces, report: ExecutionReport, schemas: Mapping[OperatorId, str]) -> Iterator[Dataset]:
    outputs = {each.name: each for each in report.outputs if each.kind == "sink"}
    for operator, place in places.of(Sink):
        if (output := outputs.get(operator.name)) is not None:
            schema = schemas.get(operator.operator_id)
            version = None if output.commit is None else output.commit.id
            yield Dataset(place=place, schema=schema, version=version, rows=output.rows, bytes=output.bytes)


@dataclass(frozen=True, slots=True)
class _StagedResults:
    """The staged results of a run, as a region reads and writes them; without its manifest, no schema is known."""

    region: RegionDescriptor
    log: ManifestLog

    @property
    def producers(self) -> Mapping[IntermediateDataSetId, RegionId]:
        """The results that the region reads, and which regions stage them."""
        read = (edge.staged for each in self.region.operators for edge in each.inputs)
        return {each.id: each.producer for each in read if each is not None}

    def place(self, id: IntermediateDataSetId) -> DatasetName:
        """Return the name of a staged result, the same in all runs."""
        root = DatasetName.of_uri(place_uri(self.log.layout.root))
        producer = self.producers.get(id, self.region.region_id)
        return root.within(self.log.layout.identity.owner, producer, id)

    def at(self, id: IntermediateDataSetId, epoch: int) -> Dataset:
        """Return one epoch of a result."""
        return self._described(id, epoch, self.log.find(id, epoch))

    def written(self, report: ExecutionReport) -> Iterator[Dataset]:
        """Yield the results that an attempt has committed, found by the place of their files."""
        locations = {each.location for each in report.outputs if each.kind == "staged"}
        for result in self.region.results:
            for epoch in self.log.epochs(result.id):
                manifest = self.log.find(result.id, epoch)
                if manifest is not None and manifest.location in locations:
                    yield self._described(result.id, epoch, manifest)

    def _described(self, id: IntermediateDataSetId, epoch: int, manifest: Manifest | None) -> Dataset:
        return Dataset(
            place=self.place(id),
            version=f"{self.log.layout.identity.run_id}/{epoch}",
            schema=None if manifest is None else manifest.schema,
            rows=None if manifest is None else manifest.rows,
            bytes=None if manifest is None else manifest.bytes,
        )


def _distinct(datasets: Iterable[Dataset]) -> tuple[Dataset, ...]:
    """Return each place once, as it was found first."""
    found: dict[DatasetName, Dataset] = {}
    for each in datasets:
        found.setdefault(each.place, each)
    return tuple(found.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class LineageColumn:
    """A column; `fields` are those of a struct, of an array's elements, and key and value of a map."""

    name: str
    type: str
    fields: tuple[LineageColumn, ...] = ()


def columns(schema: str) -> tuple[LineageColumn, ...]:
    """Return the columns of Spark's schema JSON."""
    return tuple(_column(each["name"], each["type"]) for each in json.loads(schema)["fields"])


def _column(name: str, type: Any) -> LineageColumn:
    if not isinstance(type, dict):
        return LineageColumn(name=name, type=type)
    match type["type"]:
        case "struct":
            fields = tuple(_column(each["name"], each["type"]) for each in type["fields"])
        case "array":
            fields = (_column("_element", type["elementType"]),)
        case "map":
            fields = (_column("key", type["keyType"]), _column("value", type["valueType"]))
        case _:  # a user-defined type
            return LineageColumn(name=name, type=str(type.get("class") or type.get("pyClass") or "udt"))
    return LineageColumn(name=name, type=type["type"], fields=fields)
