"""Topics of Apache Kafka, as Spark's connector reads them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from typing import ClassVar
from urllib.parse import quote

from graph_compiler.declaration.connectors.connector import Connector, Options, WhenReadTwice, as_columns, as_pairs
from graph_compiler.declaration.connectors.file_uris import lasting
from graph_compiler.declaration.connectors.jdbc_templates import TEMPLATE
from graph_compiler.declaration.connectors.secret import Secret, SecretText
from graph_compiler.errors import Problem
from graph_compiler.identifiers import did_you_mean, listing, shown

_TOPIC = re.compile(r"[A-Za-z0-9._-]{1,249}")
"""Kafka's rule for the names of topics."""
_CLIENT = "kafka."
"""The beginning of the options that Spark gives to Kafka's client."""
_ENDS = ("endingOffsets", "endingOffsetsByTimestamp", "endingTimestamp")
_LIMITS = ("maxOffsetsPerTrigger",)
_OPTIONS = (
    *("startingOffsets", "startingOffsetsByTimestamp", "startingTimestamp", "startingOffsetsByTimestampStrategy"),
    *_ENDS,
    *_LIMITS,
    *("failOnDataLoss", "includeHeaders", "minPartitions", "maxRecordsPerPartition", "groupIdPrefix"),
    *("kafkaConsumer.pollTimeoutMs", "fetchOffset.numRetries", "fetchOffset.retryIntervalMs"),
)
"""Options of Spark's connector, 4.1 to 4.3, but those of which records a source reads at all."""
_OURS = {
    **dict.fromkeys(("subscribe", "subscribepattern", "assign"), 'Kafka("topic") names the topics'),
    "kafka.bootstrap.servers": "it is a parameter: Kafka(…, bootstrap_servers=…)",
    **dict.fromkeys(
        ("minoffsetspertrigger", "maxtriggerdelay"), "a run publishes what is there, and waits for nothing"
    ),
    **dict.fromkeys(
        (
            *("kafka.key.deserializer", "kafka.value.deserializer", "kafka.enable.auto.commit"),
            *("kafka.interceptor.classes", "kafka.auto.offset.reset"),
        ),
        "Spark's connector sets it itself, and refuses another value",
    ),
}
_SECRET = re.compile(
    r"kafka\.(sasl\.jaas\.config|ssl\..*password|ssl\.keystore\.key|.*\.client\.secret)", re.IGNORECASE
)
ISOLATION = "kafka.isolation.level"
FAIL_ON_LOSS = "failOnDataLoss"
_HEADERS = "includeHeaders"
_MATTERING = (_HEADERS, ISOLATION)
"""Options that determine which records a stream has, and their columns, once it has begun."""
_COLUMNS = (
    "key BINARY, value BINARY, topic STRING, partition INT, offset BIGINT, timestamp TIMESTAMP, timestampType INT"
)
_COLUMN_OF_HEADERS = "headers ARRAY<STRUCT<key: STRING, value: BINARY>>"


@dataclass(frozen=True, slots=True)
class Kafka(Connector):
    """Records of one topic or several: `Kafka("orders", bootstrap_servers="broker:9092")`.

    Its columns are those of Spark's connector: key and value (BINARY), topic, partition, offset, timestamp,
    timestampType, and headers with the option `includeHeaders`. `options` are the connector's: those that begin with
    `kafka.` are for Kafka's client. Records of transactions that were not committed are left out, unless the option
    `kafka.isolation.level` is `read_uncommitted`.

    With `unbounded=True`, a new stream begins with the earliest records, unless `startingOffsets` says otherwise.
    Without it, a source reads from the earliest record to the one that is the last when the attempt begins to read, or
    what the options say.
    """

    spark_modules: ClassVar[tuple[str, ...]] = ("graph_compiler.spark_runtime.connectors.arriving.kafka_source",)
    when_read_twice: ClassVar[WhenReadTwice] = WhenReadTwice.FIXED
    arrives_as: ClassVar[str | None] = "records"
    topic: str | tuple[str, ...]
    bootstrap_servers: SecretText = field(kw_only=True)
    options: Options = field(default=(), kw_only=True)

    def __post_init__(self) -> None:
        """Keep several topics as a tuple, one as a text, and the options as pairs."""
        if not isinstance(self.topic, str):
            names = as_columns(self.topic)
            object.__setattr__(self, "topic", names[0] if len(names) == 1 else names)
        object.__setattr__(self, "options", as_pairs(self.options))

    @property
    def names(self) -> tuple[str, ...]:
        """Return the topics."""
        return (self.topic,) if isinstance(self.topic, str) else self.topic

    @property
    def place(self) -> str | None:
        return f"{', '.join(self.names)} at {self.bootstrap_servers}"

    def place_key(self) -> tuple[object, ...] | None:
        return (Kafka, self.bootstrap_servers, *self.names)

    def asset_uri(self, fill: Callable[[str], str]) -> str | None:
        """Return `kafka://broker:9092/topic`; None for several topics, servers, or a secret."""
        if len(self.names) != 1 or not isinstance(self.bootstrap_servers, str):
            return None
        topic, servers = lasting(fill(self.names[0])), lasting(fill(self.bootstrap_servers))
        return f"kafka://{servers}/{quote(topic)}" if topic and servers and "," not in servers else None

    def columns(self) -> str:
        """Return the columns of its records, as DDL."""
        options = {name.lower(): value for name, value in as_pairs(self.options)}
        has_headers = str(options.get(_HEADERS.lower())).lower() == "true"
        return f"{_COLUMNS}, {_COLUMN_OF_HEADERS}" if has_headers else _COLUMNS

    def all_options(self) -> dict[str, SecretText]:
        """Return the options of a read, with which no record is left out that others may see."""
        ours = {ISOLATION: "read_committed", FAIL_ON_LOSS: "true"}
        spelled = {name.lower(): name for name in ours}  # Spark does not look at their case
        return {
            **ours,
            **{spelled.get(name.lower(), name): value for name, value in as_pairs(self.options)},
            "kafka.bootstrap.servers": self.bootstrap_servers,
            "subscribe": ",".join(self.names),
        }

    def texts(self) -> dict[str, str]:
        """Return every text that may contain Jinja; several topics have numbers."""
        several = {} if isinstance(self.topic, str) else {f"topic.{n}": t for n, t in enumerate(self.topic, start=1)}
        return several | super(Kafka, self).texts()

    def with_texts(self, rendered: Mapping[str, str]) -> Kafka:
        """Return the same topics with rendered texts."""
        others = {key: text for key, text in rendered.items() if not key.startswith("topic.")}
        found = super(Kafka, self).with_texts(others)
        if isinstance(self.topic, str):
            return found
        names = tuple(rendered.get(f"topic.{number}", topic) for number, topic in enumerate(self.topic, start=1))
        object.__setattr__(found, "topic", names)
        return found

    def rendering_problems(self, rendered: Mapping[str, str]) -> Iterator[Problem]:
        """Yield a rendered name that no topic has."""
        for key, text in rendered.items():
            if key == "topic" or key.startswith("topic."):
                yield from _topic_problems(text)

    def problems(self) -> Iterator[Problem]:
        """Yield names that no topic has, and options with which a read would fail, or lose what others see."""
        if not self.names:
            yield Problem(message="it has no topic", allowed='Kafka("orders", bootstrap_servers=…)')
        for name in self.names:
            yield from _topic_problems(name)
        if len(set(self.names)) < len(self.names):
            yield Problem(message=f"it has {listing(map(shown, self.names))}", allowed="each topic once")
        if isinstance(self.bootstrap_servers, str) and not self.bootstrap_servers.strip():
            yield Problem(message="its bootstrap_servers are empty", allowed="host:port, several with commas")
        if self.schema is not None or self.on_schema_change is not None:
            yield Problem(
                message="it has a schema, and its columns are those of Spark's connector for Kafka",
                allowed="key, value, topic, partition, offset, timestamp, timestampType",
                hint="select(row=\"from_json(CAST(value AS STRING), 'id BIGINT', map('mode', 'FAILFAST'))\")",
            )
        yield from self._option_problems()

    def _option_problems(self) -> Iterator[Problem]:
        known = {name.lower(): name for name in _OPTIONS}
        for name, value in as_pairs(self.options):
            if (why := _OURS.get(name.lower())) is not None:
                yield Problem(message=f"it has option '{name}'", hint=why)
            elif _SECRET.fullmatch(name) and not isinstance(value, Secret):
                yield Problem(
                    message=f"its option '{name}' is in the declaration in plain text",
                    allowed=f"{Secret.__name__}('connection id', 'password')",
                    hint="anyone who can see the code, the task or its logs could read it; keep it in an Airflow "
                    "connection",
                )
            elif not name.lower().startswith(_CLIENT) and name.lower() not in known:
                near = [known[each] for each in get_close_matches(name.lower(), known, 3, 0.55)]
                yield Problem(
                    message=f"Spark's connector for Kafka has no option '{name}', and Spark would ignore it",
                    allowed=f"{', '.join(near) if near else listing(_OPTIONS[:3])} and others: those of Spark's "
                    "documentation",
                    hint=f"did you mean '{near[0]}'?" if did_you_mean(name.lower(), known) else None,
                )

    def what_arrives(self) -> Kafka:
        """Return it without servers, of which a stream knows its topics' ids, and with the options that matter."""
        names = {name.lower() for name in _MATTERING}
        kept = [(name, value) for name, value in as_pairs(self.options) if name.lower() in names]
        return replace(self, bootstrap_servers="", options=tuple(kept))

    def bounded_problems(self) -> Iterator[Problem]:
        """Yield options that only a stream has."""
        yield from self._not_for(_LIMITS, "Spark would ignore it", "on a stream: unbounded=True")

    def unbounded_problems(self) -> Iterator[Problem]:
        """Yield options that no stream has, and topics that are others in each run."""
        yield from self._not_for(_ENDS, "a stream has no end", "a source that ends: without unbounded=True")
        if odd := [text for text in (*self.names, self.bootstrap_servers) if TEMPLATE.search(str(text))]:
            yield Problem(
                message=f"it never ends, and has a template ({odd[0]}): each run could have another one",
                allowed="topics and servers without templates",
            )

    def _not_for(self, options: tuple[str, ...], why: str, allowed: str) -> Iterator[Problem]:
        names = {name.lower() for name in options}
        if odd := [name for name, _ in as_pairs(self.options) if name.lower() in names]:
            yield Problem(message=f"its options have {listing(odd)}, and {why}", allowed=allowed)


def _topic_problems(name: object) -> Iterator[Problem]:
    if isinstance(name, str) and TEMPLATE.search(name):
        return
    if not isinstance(name, str) or not _TOPIC.fullmatch(name) or name in (".", ".."):
        yield Problem(
            message=f"no topic of Kafka has the name {shown(name)}",
            allowed="letters, digits, '.', '_' and '-', at most 249; several topics as a list",
        )
