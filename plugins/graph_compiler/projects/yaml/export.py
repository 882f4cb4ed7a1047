"""A pipeline as a YAML file.

    export_pipeline(flights.env.pipeline())   →   "name: flights …"

Each transformation becomes the step whose call creates it. Those that a call creates besides its operator (the two
partitions of a join) are skipped. So the steps are in the order of the ids, and reading them gives the same ids again.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import yaml

from graph_compiler.declaration.artifacts.artifact_options import NO_ARTIFACTS
from graph_compiler.declaration.dag.airflow_arguments import NO_ARGUMENTS
from graph_compiler.declaration.operators import (
    Aggregate,
    ApplyInPandas,
    Backfill,
    Deduplicate,
    ExpectUnique,
    KeyedProcess,
    PreviousVersion,
    Sort,
    Source,
    Sql,
    WindowAggregate,
)
from graph_compiler.declaration.operators.combining import SetOperator
from graph_compiler.declaration.partitioners import CustomPartitioner, FunctionPartitioner, HashPartitioner, Partitioner
from graph_compiler.declaration.pipeline import Pipeline
from graph_compiler.declaration.transformations import (
    PartitionTransformation,
    PhysicalTransformation,
    SideOutputTransformation,
    SinkTransformation,
    SourceTransformation,
    Transformation,
    TwoInputTransformation,
    UnionTransformation,
    problem_at,
)
from graph_compiler.errors import InvalidPipelineError, Problem
from graph_compiler.identifiers import PIPELINES, listing
from graph_compiler.options.durations import as_text
from graph_compiler.projects.yaml.reader import parse_pipeline
from graph_compiler.projects.yaml.run_forms import written_run
from graph_compiler.projects.yaml.tree import Scalar, scalar
from graph_compiler.projects.yaml.vocabulary import POSITION_KEYS, STEP_FORMS
from graph_compiler.projects.yaml.written_operators import (
    Step,
    call_of,
    own_name,
    written_operator,
    written_settings,
    written_value,
)

# Which partitions are written within the step that reads them, as a person would: `join: {from: a, broadcast: true}`.
#
# Only where reading the file makes the same calls in the same order: the partition stands directly before its only
# reader.


@dataclass(frozen=True, slots=True)
class Folded:
    """Ids of partitions: `inline` ones stand in place of a stream's name, of `key_by` only the keys are written."""

    inline: frozenset[int]
    key_by: frozenset[int]


def folded(own: Sequence[Transformation], inputs: Mapping[int, Sequence[int]]) -> Folded:
    """Return the partitions among the steps that need no step of their own."""
    readers = Counter(id for read in inputs.values() for id in read)
    inline, key_by = set[int](), set[int]()
    before: list[Transformation] = []
    for reader in own:
        read = inputs[reader.id]
        # A call evaluates its streams in their order, so the last one is the nearest.
        for id in read[:0:-1]:
            if before and before[-1].id == id and _is_partition(before[-1]) and readers[id] == 1:
                inline.add(before.pop().id)
        if len(read) == 1 and before and before[-1].id == read[0] and readers[read[0]] == 1:
            key_by |= {read[0]} if _are_keys_of(before[-1], reader) else set()
        before.append(reader)
    return Folded(inline=frozenset(inline), key_by=frozenset(key_by))


def _is_partition(transformation: Transformation) -> bool:
    return isinstance(transformation, PartitionTransformation)


def _are_keys_of(partition: Transformation, reader: Transformation) -> bool:
    if not isinstance(partition, PartitionTransformation):
        return False
    if not isinstance(reader, PhysicalTransformation):
        return False
    form = STEP_FORMS.get(call_of(type(reader.operator)))
    takes_keys = form is not None and "key_by_" in form.model_fields
    return takes_keys and isinstance(partition.partitioner, HashPartitioner)


_SCHEMA = "# yaml-language-server: $schema=../schemas/pipeline.schema.json\n"


def export_pipeline(pipeline: Pipeline, project: Path | None = None) -> str:
    """Return a pipeline as YAML, whose parameters hold no absolute path of the folder that contains pipelines/.

    Raises InvalidPipelineError for operators without a call (Flink's iterations), and if the text would not be read as
    the same pipeline.
    """
    listed = pipeline.transformations
    first, last = _first_sources(listed), _last_sinks(listed)
    export = _Export(pipeline, {t.id for t in first}, {t.id for t in last})
    document = {
        "name": pipeline.name,
        **written_run(pipeline, project),
        "config": {key: _unquoted(value) for key, value in pipeline.config},
        "sources": {t.name: export.source(t) for t in first},
        "steps": export.steps(listed[len(first) : len(listed) - len(last)]),
        "sinks": {t.name: export.sink(t) for t in last},
    }
    given = {key: value for key, value in document.items() if value not in (None, [], {})}
    text: str = yaml.dump(given, Dumper=_Dumper, sort_keys=False, width=100, allow_unicode=True)
    _refuse_changes(pipeline, text, (project or Path()) / PIPELINES / "exported.yaml")
    return _SCHEMA + text


def _refuse_changes(pipeline: Pipeline, text: str, file: Path) -> None:
    """Raise InvalidPipelineError if the text of a file is not read as this pipeline."""
    try:
        found = _comparable(parse_pipeline(text, str(file)))
    except InvalidPipelineError as error:
        words = "its YAML would be refused: "
        problems = [
            replace(each, message=words + each.message, declared_at=None, column=None) for each in error.problems
        ]
        raise pipeline.placed(InvalidPipelineError(pipeline.name, problems)) from None
    wanted = _comparable(pipeline)
    if found == wanted:
        return
    words = "cannot be written in YAML: it would be read as something else"
    pairs = zip(pipeline.transformations, wanted.transformations, found.transformations, strict=False)
    problems = [problem_at(one, f"it {words}") for one, before, after in pairs if before != after]
    if not problems:
        names = (each.name for each in fields(Pipeline) if each.compare)
        changed = [name for name in names if getattr(found, name) != getattr(wanted, name)]
        problems = [Problem(message=f"its {listing(changed)} {words}", hint="keep this pipeline in Python")]
    raise pipeline.placed(InvalidPipelineError(pipeline.name, problems))


def _comparable(pipeline: Pipeline) -> Pipeline:
    """Return a pipeline with ids that count its transformations, and without what depends on its file.

    Arguments of Airflow may be other collections and enums of equal values.
    """
    numbers = {t.id: number for number, t in enumerate(pipeline.transformations)}
    transformations = tuple(
        replace(_counted(t, numbers), id=numbers[t.id], inputs=tuple(numbers[id] for id in t.inputs), declared_at=None)
        for t in pipeline.transformations
    )
    return replace(pipeline, transformations=transformations, artifacts=NO_ARTIFACTS, airflow=NO_ARGUMENTS)


def _counted(transformation: Transformation, numbers: dict[int, int]) -> Transformation:
    """Return a transformation whose selector of partitions, an id as well, is counted among the numbers."""
    if not isinstance(transformation, PartitionTransformation):
        return transformation
    partitioner = transformation.partitioner
    if not isinstance(partitioner, HashPartitioner | CustomPartitioner | FunctionPartitioner):
        return transformation
    selector = numbers.setdefault(partitioner.selector, len(numbers))
    return replace(transformation, partitioner=replace(partitioner, selector=selector))


@dataclass(slots=True)
class _Export:
    pipeline: Pipeline
    first: set[int]
    """The sources of the `sources` section, which keep their names."""
    last: set[int]
    """The sinks of the `sinks` section, whose names no step reads."""
    by_id: dict[int, Transformation] = field(init=False)
    labels: dict[int, str] = field(init=False)
    made_by_others: set[int] = field(init=False)
    folded: Folded = field(init=False)

    def __post_init__(self) -> None:
        listed = self.pipeline.transformations
        self.by_id = {t.id: t for t in listed}
        self.made_by_others = {id for t in listed for id in _made_with(t, self.by_id)}
        names = Counter(_name(t) for t in listed if t.id not in self.last)
        taken = set(names)
        self.labels = {}
        for t in listed:
            label = _name(t)
            if names[label] > 1 and t.id not in self.first | self.last:
                label = next(n for n in (f"{label}_{i}" for i in range(1, 10**6)) if n not in taken)
                taken.add(label)
            self.labels[t.id] = label

    def steps(self, listed: Sequence[Transformation]) -> list[Step]:
        """Return steps without redundant keys: `from` with the previous step, and names that no step reads."""
        kept = [t for t in self.pipeline.transformations if t.id not in self.made_by_others]
        inputs = {t.id: [self._made_from(id) for id in t.inputs] for t in kept}
        own = [t for t in listed if t.id in inputs]
        self.folded = folded(own, inputs)
        own = [t for t in own if t.id not in self.folded.inline | self.folded.key_by]
        steps = [self.step(t) for t in own]
        readers = Counter(self.labels[id] for read in inputs.values() for id in read)
        said = [self.labels[t.id] for t in own]
        for number, step in enumerate(steps):
            if number and step.get("from") == said[number - 1]:
                del step["from"]
                readers[said[number - 1]] -= 1
        for label, step in zip(said, steps, strict=True):
            if not readers[label] and "name" not in step:
                step.pop("as", None)
        return steps

    def source(self, transformation: Transformation) -> Step:
        assert isinstance(transformation, SourceTransformation)
        assert isinstance(transformation.operator, Source)
        operator = transformation.operator
        read = _previous_version(operator) or {**written_value(operator.connector), **_position(operator)}
        return {**read, **written_settings(transformation)}

    def sink(self, transformation: SinkTransformation) -> Step:
        call = written_operator(transformation.operator, [])
        read = self._read(transformation.inputs[0])
        return {"from": read, **call, **written_settings(transformation)}

    def step(self, transformation: Transformation) -> Step:
        """Return a transformation as a step with its input and its name."""
        label = self.labels[transformation.id]
        if isinstance(transformation, SourceTransformation):
            assert isinstance(transformation.operator, Source)
            read_by = transformation.operator
            plain = {"from_source": written_value(read_by.connector), **_position(read_by)}
            named = {"name": transformation.name, **(_previous_version(read_by) or plain)}
            settings = written_settings(transformation)
            return {**named, **({"as": label} if label != transformation.name else {}), **settings}
        read = [self._read(id) for id in transformation.inputs]
        if not isinstance(transformation, PhysicalTransformation):
            return {"as": label, "from": read[0], **self._travel(transformation, read[1:])}
        name = transformation.name
        names: Step = {} if name == own_name(transformation) else {"name": name}
        if label != names.get("name"):
            names["as"] = label
        operator = transformation.operator
        if isinstance(operator, Sql) and (operator.names != ("input",) or len(read) > 1):
            call = {"sql": operator.query, "streams": dict(zip(operator.names, read, strict=True))}
        else:
            call = {**_from(read[0]), **self._call(transformation, read[1:])}
        return {**names, **call, **written_settings(transformation)}

    def _call(self, transformation: PhysicalTransformation, others: list[Any]) -> Step:
        try:
            return written_operator(transformation.operator, others)
        except NotImplementedError as error:
            raise self._refused(transformation, str(error)) from None

    def _made_from(self, id: int) -> int:
        """Return an input, without the partitions that the call creates itself."""
        while id in self.made_by_others:
            (id,) = self.by_id[id].inputs
        return id

    def _read(self, id: int) -> Any:
        """Return an input as it is written: its name, or `{from: name, broadcast: true}`."""
        id = self._made_from(id)
        if id not in self.folded.inline | self.folded.key_by:
            return self.labels[id]
        route = self.by_id[id]
        return {"from": self._read(route.inputs[0]), **self._travel(route, [])}

    def _travel(self, transformation: Transformation, others: list[str]) -> Step:
        match transformation:
            case SideOutputTransformation():
                return {"get_side_output": transformation.tag}
            case UnionTransformation():
                return {"union": others}
            case PartitionTransformation(partitioner=None, staging_text=str(reason)):
                same_task = {"same_task": True} if transformation.same_task else {}
                return {"stage": reason, **same_task}
            case PartitionTransformation(partitioner=None, pipelining_text=str(reason)):
                return {"pipelined": reason}
            case PartitionTransformation(partitioner=Partitioner() as by) if route := _route(by):
                return route
        raise self._refused(transformation, "it has no call in YAML")

    def _refused(self, transformation: Transformation, words: str) -> InvalidPipelineError:
        return InvalidPipelineError(self.pipeline.name, [problem_at(transformation, words)])


def _position(source: Source) -> Step:
    """Return what a source says besides its connector, without defaults."""
    return {key: value for key in POSITION_KEYS if (value := getattr(source, key)) not in (None, False)}


def _from(read: Any) -> Step:
    return read if isinstance(read, dict) else {"from": read}


def _made_with(transformation: Transformation, by_id: dict[int, Transformation]) -> list[int]:
    """Return the partitions that the call of an operator creates before it: their ids are just below its own."""
    if not isinstance(transformation, PhysicalTransformation):
        return []
    operator = transformation.operator
    of_its_own = operator.is_non_parallel or isinstance(operator, Deduplicate | ExpectUnique | Sort | SetOperator)
    of_its_own = of_its_own or (isinstance(operator, WindowAggregate) and not operator.keys)
    by_key = isinstance(transformation, TwoInputTransformation) and bool(transformation.state_keys)
    if (not of_its_own and not by_key) or isinstance(operator, Aggregate | ApplyInPandas | KeyedProcess):
        return []
    return [id for id in transformation.inputs if isinstance(by_id[id], PartitionTransformation)]


def _previous_version(source: Source) -> Step:
    """Return the keys of a source that reads the previous version of a target; none for any other."""
    if not isinstance(source, PreviousVersion):
        return {}
    is_default = source.backfill is Backfill.REFUSE
    return {
        "from_target": written_value(source.target),
        "schema": source.connector.schema,
        **({} if is_default else {"backfill": str(source.backfill)}),
    }


def _first_sources(listed: Sequence[Transformation]) -> list[SourceTransformation]:
    """Return the sources if they come before everything else, each with a unique name."""
    sources = [t for t in listed if isinstance(t, SourceTransformation)]
    are_first = list(listed[: len(sources)]) == sources
    return sources if are_first and len({t.name for t in sources}) == len(sources) else []


def _last_sinks(listed: Sequence[Transformation]) -> list[SinkTransformation]:
    """Return the sinks if they come after everything else, each with a unique name."""
    sinks = [t for t in listed if isinstance(t, SinkTransformation)]
    are_last = list(listed[len(listed) - len(sinks) :]) == sinks
    return sinks if are_last and len({t.name for t in sinks}) == len(sinks) else []


def _route(partitioner: Partitioner) -> Step | None:
    match partitioner:
        case HashPartitioner(keys=keys):
            return {"key_by": list(keys)}
        case CustomPartitioner(expression=expression):
            return {"partition_custom": expression}
        case FunctionPartitioner(function=function, keys=keys):
            return {"partition_custom": str(function), "keys": list(keys)}
    return None if fields(partitioner) else {partitioner.name.lower(): True}


def _name(transformation: Transformation) -> str:
    if isinstance(transformation, PhysicalTransformation):
        return transformation.name
    if isinstance(transformation, SideOutputTransformation):
        return transformation.tag
    if isinstance(transformation, PartitionTransformation) and transformation.partitioner:
        return transformation.partitioner.name.lower()
    if isinstance(transformation, PartitionTransformation) and transformation.pipelining_text:
        return "pipelined"
    return "union" if isinstance(transformation, UnionTransformation) else "staged"


def _unquoted(text: str) -> Scalar:
    """Return the number or the boolean whose text this is; any other text itself."""
    value = scalar(text)
    return text if value is None or as_text(value) != text else value


class _Dumper(yaml.SafeDumper):  # type: ignore[misc]  # PyYAML ships no types
    def ignore_aliases(self, data: object) -> bool:  # noqa: ARG002  # PyYAML's signature
        return True


def _list(dumper: yaml.SafeDumper, items: Sequence[object]) -> yaml.Node:
    is_short = all(isinstance(item, str | int | float | None) for item in items)
    return dumper.represent_sequence("tag:yaml.org,2002:seq", items, flow_style=is_short)


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.Node:
    style = '"' if _BREAKS.search(text) else "'" if scalar(text) != text else "|" if "\n" in text else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


def _number(dumper: yaml.SafeDumper, value: float) -> yaml.Node:
    text = repr(value)  # PyYAML would write 1.0e+16, and a tag: a float without a point is text in YAML 1.1
    return dumper.represent_scalar(f"tag:yaml.org,2002:{'float' if '.' in text else 'str'}", text)


_BREAKS = re.compile("[\x85\u2028\u2029]")
"""Characters that YAML reads as the end of a line unless they are escaped."""
_Dumper.add_representer(str, _text)
_Dumper.add_representer(float, _number)
_Dumper.add_representer(list, _list)
