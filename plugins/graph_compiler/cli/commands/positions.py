"""`graph-compiler positions list | show | reset`, `streams list | stop | savepoint | reset`: what runs have read."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from graph_compiler.cli.arguments.runs import DagName, layout_of, savepoint_place
from graph_compiler.cli.console import AsJson, ExitCode, example, speaking_plainly
from graph_compiler.cli.running.embedded_airflow import EmbeddedAirflow
from graph_compiler.deployment.documents.heartbeat import StreamHeartbeat
from graph_compiler.deployment.documents.position import Increment, PositionEntry, Reset, Settlement
from graph_compiler.deployment.documents.staging_layout import PositionLayout
from graph_compiler.deployment.documents.wire import to_wire
from graph_compiler.errors import DamagedDocumentError, OtherVersionError, ParameterError
from graph_compiler.identifiers import counted, listing, path_segment, size_words
from graph_compiler.staging.attempts.attempts import ExecutionNotFoundError
from graph_compiler.staging.positions.position_log import PositionLog, SinkState, position_logs
from graph_compiler.staging.store.staging_store import StagingStore
from graph_compiler.staging.store.stores import store_of
from graph_compiler.staging.streams.checkpoint import KnownStream, known_layouts, known_streams
from graph_compiler.staging.streams.heartbeats import StreamTurn, name_of_user
from graph_compiler.staging.streams.savepoints import (
    SavedStream,
    known_savepoints,
    savepoint_json,
    savepoint_words,
    take_savepoint,
)

positions = typer.Typer(
    name="positions", help="Show what sources that read only what is new have read, and reset it.", no_args_is_help=True
)
SourceUid = Annotated[str, typer.Argument(metavar="SOURCE", help="The uid of the source.")]
_LONGEST = 20


@dataclass(frozen=True, slots=True)
class ShownEntry:
    """An entry of a position, and what became of it, as text."""

    entry: PositionEntry
    state: str

    def words(self) -> str:
        """Return it as one line."""
        taken = datetime.fromtimestamp(self.entry.taken, UTC)
        return f"{self.entry.number:>6}  {taken:%Y-%m-%d %H:%M:%S} UTC  {self.what}; {self.state}"

    @property
    def what(self) -> str:
        """What it holds."""
        if isinstance(self.entry, Increment):
            size = f", {size_words(self.entry.bytes)}" if self.entry.bytes is not None else ""
            return f"run {self.entry.identity.run_id}: {self.entry.words()}{size}"
        assert isinstance(self.entry, Reset), "there are two kinds"
        if self.entry.files:
            return f"reset of {counted(len(self.entry.files), 'file')}"
        return "reset" if self.entry.to < 0 else f"reset to {self.entry.to}"

    def to_json(self) -> dict[str, object]:
        """Return it as JSON."""
        return {"entry": to_wire(self.entry), "state": self.state}


@positions.command(name="list", epilog=example("positions list --json"))
def list_positions(
    dag: Annotated[str | None, typer.Argument(help="Only those of this pipeline.")] = None, as_json: AsJson = False
) -> None:
    """List every position: its pipeline, its source, its last entry."""
    with speaking_plainly():
        store, root = _place()
        found = [(log, _shown(log)[-1]) for log in position_logs(store, root, dag)]
        if as_json:
            rows = [{"pipeline": log.layout.owner, "source": log.layout.uid, **last.to_json()} for log, last in found]
            typer.echo(json.dumps(rows, indent=1))
            return
        for log, last in found:
            typer.echo(f"{log.layout.owner} {log.layout.uid}")
            typer.echo(last.words())
        typer.echo(f"{counted(len(found), 'position')} in {root}")


@positions.command(name="show", epilog=example("positions show sales orders"))
def show_position(
    dag: DagName,
    source: SourceUid,
    files: Annotated[bool, typer.Option("--files", help="Also the files of each increment.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show the entries of a position: which run has read what, and whether it was published."""
    with speaking_plainly():
        store, root = _place()
        log = _found(store, root, dag, source)
        shown = _shown(log)
        if as_json:
            typer.echo(json.dumps([_with_files(log, one, files=files) for one in shown], indent=1))
            return
        for one in shown:
            typer.echo(one.words())
            for path in _paths(log, one.entry) if files else ():
                typer.echo(f"        {path}")


@positions.command(name="reset", epilog=example("positions reset sales orders --to manual__2024-05-01"))
def reset_position(  # each is an option
    dag: DagName,
    source: SourceUid,
    to: Annotated[
        str | None, typer.Option(help="A run: what later runs have read is new again; what it has read is not.")
    ] = None,
    before: Annotated[str | None, typer.Option(help="A run: what it and later runs have read is new again.")] = None,
    file: Annotated[list[str] | None, typer.Option(help="Only this file is new again; may be repeated.")] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do it without asking.")] = False,
    as_json: AsJson = False,
) -> None:
    """Let the next run read again what was read; without options, all of it. It says what, and asks.

    What is published stays: a sink with mode append then has these rows twice, one with merge or overwrite once.
    """
    with speaking_plainly():
        if sum(each is not None for each in (to, before, file or None)) > 1:
            raise ParameterError("more than one of --to, --before and --file is given\n  allowed: one of them, or none")
        store, root = _place()
        log = _found(store, root, dag, source)
        number = _number(log, dag, to, before)
        again = _again(log, number, file or ())
    typer.echo(f"the next run reads again: {again or 'nothing that was published'}", err=as_json)
    if again:
        typer.echo("  it stays published: rows of a sink that appends are there twice then", err=as_json)
    if not yes and not typer.confirm("reset it?", err=as_json):
        raise typer.Exit(ExitCode.LEFT_TO_DO)
    with speaking_plainly():
        done = log.reset(to=number, files=file or ())
    if as_json:
        typer.echo(json.dumps(to_wire(done), indent=1))
    else:
        typer.echo(f"'{source}' of '{dag}' is reset: entry {done.number}")


def _place() -> tuple[StagingStore, str]:
    root = EmbeddedAirflow(Path.cwd()).staging_root
    return store_of(root), root


def _found(store: StagingStore, root: str, dag: str, source: str) -> PositionLog:
    """Return the position of a source; raises ExecutionNotFoundError, which lists those that exist."""
    owner = layout_of(dag, "").identity.owner
    log = PositionLog(store=store, layout=PositionLayout(root=root, owner=owner, uid=source))
    if log.numbers():
        return log
    known = listing(f"{each.layout.owner} {each.layout.uid}" for each in position_logs(store, root))
    raise ExecutionNotFoundError(f"source '{source}' of '{dag}' has no position in {root}\n  found: {known}")


def _shown(log: PositionLog) -> list[ShownEntry]:
    """Return the readable entries with their states."""
    entries: dict[int, PositionEntry] = {}
    for number in log.numbers():
        try:
            entries[number] = log.entry(number)
        except (DamagedDocumentError, OtherVersionError) as error:
            typer.echo(str(error), err=True)
    return [ShownEntry(entry, _state(log, entry, entries.get(number + 1))) for number, entry in entries.items()]


def _state(log: PositionLog, entry: PositionEntry, following: PositionEntry | None) -> str:
    if not isinstance(entry, Increment):
        return "it is kept"
    end = log.end(entry.number)
    if end is not None and end.superseded_by is not None:
        return "not published: what it had is new again"
    if following is not None:
        return "published" if following.before is Settlement.CONSUMED else "not published as a whole: new again"
    states = log.sink_states(entry)
    left = [sink.name for sink, state in states.items() if state is not SinkState.PUBLISHED]
    return f"not published by {listing(left)}" if left else "published"


def _number(log: PositionLog, dag: str, to: str | None, before: str | None) -> int:
    """Return the number of the last increment that stays, -1 for none; raises ExecutionNotFoundError."""
    run = to if to is not None else before
    if run is None:
        return -1
    increment = log.of_run(layout_of(dag, run).identity)
    if increment is None:
        runs = [one.entry.identity.run_id for one in _shown(log) if isinstance(one.entry, Increment)]
        raise ExecutionNotFoundError(
            f"run '{run}' has read nothing of '{log.layout.uid}'\n  found: {listing(runs[-_LONGEST:])}"
        )
    return increment.number if to is not None else increment.number - 1


def _again(log: PositionLog, number: int, files: Sequence[str]) -> str:
    """Return what is published, and would be read again, as text."""
    if files:
        return listing(files)
    later = [
        one
        for one in _shown(log)
        if isinstance(one.entry, Increment) and one.entry.number > number and "new again" not in one.state
    ]
    return "; ".join(f"{one.what}, {one.state}" for one in later)


def _paths(log: PositionLog, entry: PositionEntry) -> list[str]:
    return [each.path for each in log.files_of(entry)] if isinstance(entry, Increment) else []


def _with_files(log: PositionLog, one: ShownEntry, *, files: bool) -> dict[str, object]:
    return {**one.to_json(), **({"files": _paths(log, one.entry)} if files else {})}


# Streams have a checkpoint of Spark in place of a position.

streams = typer.Typer(
    name="streams",
    help="Show the checkpoints of streams, stop their drivers, copy and reset them.",
    no_args_is_help=True,
)
StreamSource = Annotated[str, typer.Argument(metavar="SOURCE", help="The uid of one of its sources.")]


@streams.command(name="list", epilog=example("streams list --json"))
def list_streams(
    dag: Annotated[str | None, typer.Argument(help="Only those of this pipeline.")] = None, as_json: AsJson = False
) -> None:
    """List every stream: its pipeline, its sources, its batches, its last run, what its driver does, its savepoints.

    Savepoints stay when a stream is reset, and are listed behind all streams.
    """
    with speaking_plainly():
        store, root = _place()
        owner = None if dag is None else layout_of(dag, "").identity.owner
        found = list(known_streams(store, root, owner))
        alive, now = {each.stream_id: _heartbeat(store, each) for each in found}, datetime.now(UTC).timestamp()
        saved = [each for layout in known_layouts(store, root, owner) for each in known_savepoints(store, layout)]
    if as_json:
        typer.echo(json.dumps([_stream_json(each, saved, alive[each.stream_id]) for each in found], indent=1))
        return
    for each in found:
        run = "no run yet" if each.last is None else f"last run {each.last.run_id}"
        typer.echo(f"{each.layout.owner} {' '.join(each.uids)}")
        typer.echo(f"        {counted(each.batches, 'batch', 'batches')}, {run}")
        if (found_alive := alive[each.stream_id]) is not None:
            typer.echo(f"        {found_alive.words(now)}")
    typer.echo(f"{counted(len(found), 'stream')} in {root}")
    for one in saved:
        typer.echo(f"{one.savepoint.own.owner} {savepoint_words(one)}")


@streams.command(name="stop", epilog=example("streams stop word_count lines"))
def stop_stream(dag: DagName, source: StreamSource, as_json: AsJson = False) -> None:
    """Ask the driver of a stream to end behind the batch in progress. Its task succeeds.

    The next run continues the stream: pause the Dag, if it is to stay as it is.
    """
    with speaking_plainly():
        store, root = _place()
        stream = _stream_of(store, root, dag, source)
        turn = StreamTurn.last(store, stream.layout, stream.stream_id)
        alive = _heartbeat(store, stream)
        if turn is None or alive is None or alive.end is not None:
            raise ExecutionNotFoundError(f"no driver of the stream of '{source}' of '{dag}' is running")
        now = datetime.now(UTC).timestamp()
        turn.request_stop(now, name_of_user())
    words = f"run {alive.run_id} is asked to end behind the batch in progress ({alive.words(now)})"
    typer.echo(json.dumps(to_wire(alive), indent=1) if as_json else words)


@streams.command(name="savepoint", epilog=example("streams savepoint word_count lines --to /backup/words"))
def take_savepoint_of_stream(
    dag: DagName,
    source: StreamSource,
    to: Annotated[
        str | None, typer.Option(metavar="PATH", help="Where to; default: a new folder below the staging root.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Copy the checkpoint of a stream that no driver has, behind its last batch.

    `graph-compiler run PIPELINE --from-savepoint PATH` begins a stream with it.
    """
    with speaking_plainly():
        store, root = _place()
        place = None if to is None else savepoint_place(to)
        stream = _stream_of(store, root, dag, source)
        run = None if stream.last is None else layout_of(dag, stream.last.run_id)
        saved = take_savepoint(store, stream, run, place, datetime.now(UTC).timestamp())
    typer.echo(json.dumps(savepoint_json(saved), indent=1) if as_json else savepoint_words(saved))


@streams.command(name="reset", epilog=example("streams reset word_count lines"))
def reset_stream(
    dag: DagName,
    source: StreamSource,
    yes: Annotated[bool, typer.Option("--yes", help="Do it without asking.")] = False,
    as_json: AsJson = False,
) -> None:
    """Remove a checkpoint: the next run begins a new one, and reads all that its sources have.

    What is published stays: a sink that appends then has these rows twice. Savepoints stay, too.
    """
    with speaking_plainly():
        store, root = _place()
        found = _stream_of(store, root, dag, source)
        found.check_finished(store)
    words = f"the next run reads again what {listing(found.uids)} had in {counted(found.batches, 'batch', 'batches')}"
    typer.echo(f"{words}, unless it starts from a savepoint", err=as_json)
    typer.echo("  it stays published: rows of a sink that appends are there twice then", err=as_json)
    if not yes and not typer.confirm("reset it?", err=as_json):
        raise typer.Exit(ExitCode.LEFT_TO_DO)
    with speaking_plainly():
        found.reset(store)
    typer.echo(
        json.dumps(_stream_json(found), indent=1) if as_json else f"the stream of {listing(found.uids)} is reset"
    )


def _stream_of(store: StagingStore, root: str, dag: str, source: str) -> KnownStream:
    """Return the stream of a source; raises ExecutionNotFoundError, which lists those that exist."""
    owner = layout_of(dag, "").identity.owner
    own = known_streams(store, root, owner)
    found = next((each for each in own if path_segment(source) in map(path_segment, each.uids)), None)
    if found is None:
        names = listing(f"{each.layout.owner} {' '.join(each.uids)}" for each in known_streams(store, root))
        raise ExecutionNotFoundError(f"source '{source}' of '{dag}' has no stream in {root}\n  found: {names}")
    return found


def _heartbeat(store: StagingStore, stream: KnownStream) -> StreamHeartbeat | None:
    """Return the last sign of life of a stream's last driver; one that cannot be read is named."""
    turn = StreamTurn.last(store, stream.layout, stream.stream_id)
    try:
        return None if turn is None else turn.heartbeat()
    except (DamagedDocumentError, OtherVersionError) as error:
        typer.echo(str(error), err=True)
        return None


def _stream_json(
    stream: KnownStream, saved: Sequence[SavedStream] = (), alive: StreamHeartbeat | None = None
) -> dict[str, object]:
    owner, uids = stream.layout.owner, set(stream.uids)
    return {
        "pipeline": stream.layout.owner,
        "sources": list(stream.uids),
        "stream": stream.stream_id,
        "batches": stream.batches,
        "last_run": None if stream.last is None else stream.last.run_id,
        "heartbeat": None if alive is None else to_wire(alive),
        "savepoints": [
            savepoint_json(each)
            for each in saved
            if each.savepoint.own.owner == owner and uids == {source.uid for source in each.savepoint.query.sources}
        ],
    }
