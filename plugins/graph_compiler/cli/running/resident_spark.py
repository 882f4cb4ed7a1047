"""One Spark for a command that is repeated after each change of a file: `dry-run --watch`, `run --until --watch`.

terminal's process ── holds ──▶ JVM of Spark                    ends with that process, however it ends
       │ after each change            ▲
       └─▶ graph-compiler dry-run ────┴── its Spark program     both are new: they import what has changed

Both processes have imported our own modules before the change (`spare_process.py`).

A repeated command finds the JVM by variables. If its program needs settings, jars or variables with which the JVM was
not started, the command says so and ends; another JVM is started, and the command runs once more. The JVM listens on
loopback only. Its secret is in the memory of these processes; the file in which Spark hands it over is in a folder of
this user, in memory where the host has such a folder, and is removed at once.
"""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, NoReturn, TypeAlias

import typer

from graph_compiler.cli.console import ExitCode, speaking_plainly, standard_error
from graph_compiler.cli.running.local_spark import SUBMIT_ARGUMENTS
from graph_compiler.cli.running.signals import ended_as_by_ctrl_c
from graph_compiler.cli.running.spare_process import Spare
from graph_compiler.deployment.documents.jvm_settings import RESIDENT
from graph_compiler.deployment.documents.staging_layout import COPIES
from graph_compiler.deployment.documents.wire import digest
from graph_compiler.driver_jvm.installation import spark_jars
from graph_compiler.driver_jvm.pinned_process import pinned_variables
from graph_compiler.errors import GraphCompilerError

Watch = Annotated[
    bool, typer.Option("--watch", help="Answer again after each change of a file, and keep Spark until Ctrl-C.")
]

_REQUESTS = "GRAPH_COMPILER_WATCH"
"""The number of the descriptor to which a repeated command writes which Spark it needs."""
_FOLDER = "GRAPH_COMPILER_WATCH_FOLDER"
_PORT, _SECRET = "PYSPARK_GATEWAY_PORT", "PYSPARK_GATEWAY_SECRET"
_HANDED_OVER = "_PYSPARK_DRIVER_CONN_INFO_PATH"
_COMMAND_MODULES = ("graph_compiler.cli.app", __name__)
_PROGRAM_MODULES = ("graph_compiler.spark_runtime.dry_run", "graph_compiler.spark_runtime.in_process")
_NEEDS_SPARK = 75
"""The exit code of a repeated command that needs another Spark."""
_SECONDS = 180
_MOST_RUNS = 100
"""After so many runs, another JVM is started: objects of ended Python processes stay in it."""
_IN_MEMORY = Path("/dev/shm")
_LINES = 12


class WatchError(GraphCompilerError):
    """Spark cannot be started for a command that is repeated."""


def require_resident_spark(environment: Mapping[str, str]) -> None:
    """End this process if it is a repeated command, and the Spark that stays does not fit a program's environment."""
    if (requests := os.environ.get(_REQUESTS)) is None:
        return
    wanted = {key: value for key, value in environment.items() if os.environ.get(key) != value}
    if digest(wanted) != os.environ.get(RESIDENT):
        with os.fdopen(int(requests), "w") as pipe:
            json.dump(wanted, pipe)
        raise SystemExit(_NEEDS_SPARK)


_waiting: list[Spare] = []
"""In a repeated command: the process that waits for its Spark program."""


def at_start(wanted: Mapping[str, str]) -> None:
    """Let a process wait for the Spark program of this command, which will add variables to its environment."""
    _waiting.append(Spare.start(_PROGRAM_MODULES, _of_driver({**os.environ, **wanted}), is_program=True))


def start_driver(
    program: Path, request: Path, environment: Mapping[str, str], output: Path, *, pass_fds: Sequence[int] = ()
) -> subprocess.Popen[bytes]:
    """Start a command's Spark program in a session of its own, and let it write what it prints to a file."""
    own = _of_driver(environment)
    if _waiting:
        spare = _waiting.pop()
        if spare.environment == own and not pass_fds:
            return spare.run_program(program, str(request), output)
        spare.end()
    with output.open("wb") as file:
        return subprocess.Popen(
            [sys.executable, str(program), str(request)],
            env=own,
            stdout=file,
            stderr=file,
            start_new_session=True,
            pass_fds=pass_fds,
        )


def _of_driver(environment: Mapping[str, str]) -> dict[str, str]:
    return {"PYSPARK_PYTHON": sys.executable, **environment}


@contextmanager
def working_folder(prefix: str) -> Iterator[str]:
    """Yield an empty folder that is removed at the end.

    In a repeated command, it is always the same, and still has the copies of files and jars: Spark has opened them.
    """
    if (folder := os.environ.get(_FOLDER)) is not None:
        for path in Path(folder).rglob("*"):
            if path.is_file() and COPIES not in path.relative_to(folder).parts:
                path.unlink()
        yield folder
        return
    with TemporaryDirectory(prefix=prefix) as temporary:
        yield temporary


def repeat_command(*, as_json: bool) -> NoReturn:
    """Run this command without --watch, and again after each change of a file below this folder, until Ctrl-C."""
    if as_json:
        raise typer.BadParameter("--watch is for people: it cannot be combined with --json")
    with speaking_plainly():
        _repeat([word for word in sys.argv[1:] if word != "--watch"])
    raise typer.Exit(ExitCode.DONE)


def _repeat(arguments: Sequence[str]) -> None:
    say = standard_error()
    command = ["graph_compiler", *arguments]
    with ended_as_by_ctrl_c(), TemporaryDirectory(prefix="watch-") as folder:
        spark = ResidentSpark(Path(folder))
        try:
            while True:
                before = take_snapshot(Path.cwd())
                spark.run([sys.executable, "-m", *command])
                spark.prepare(command)
                say.print(f"{len(before)} files are watched; Ctrl-C ends", highlight=False)
                changed = wait_for_change(Path.cwd(), before)
                say.print(f"\n{changed} has changed", highlight=False, soft_wrap=True)
        except KeyboardInterrupt:
            say.print()
        finally:
            spark.stop()


@dataclass(frozen=True, slots=True)
class _Jvm:
    process: subprocess.Popen[bytes]
    wanted: Mapping[str, str]
    """The variables with which it was started."""
    port: int = 0
    secret: str = ""


@dataclass(frozen=True, slots=True)
class _Begun:
    """A command's process, or a spare for it, and the pipe on which it says which Spark it needs."""

    process: subprocess.Popen[bytes]
    requests: int
    spare: Spare | None = None


class ResidentSpark:
    """The JVM that stays, at most one at a time."""

    def __init__(self, folder: Path) -> None:
        """Start none; `folder` is private to this user, and has what runs stage."""
        self._folder = folder
        self._jvm: _Jvm | None = None
        self._next: _Begun | None = None
        self._runs = 0

    def run(self, command: Sequence[str]) -> int:
        """Run a command with the Spark that it needs, and return its exit code; raises WatchError."""
        if self._runs >= _MOST_RUNS:
            self.stop()
        code, wanted = self._ask(command)
        if wanted is not None:
            with standard_error().status("Spark starts"):
                self._start(wanted)
            code, wanted = self._ask(command)
        self._runs += 1
        if wanted is not None:
            raise WatchError("the command needs another Spark each time: a setting of it changes with each run")
        return code

    def prepare(self, command: Sequence[str]) -> None:
        """Let a process wait for the next run of a command, a module and its arguments, unless there is no JVM."""
        if self._jvm is not None:
            self._next = self._begun(command, is_spare=True)

    def stop(self) -> None:
        """End the JVM, if there is one, and what waits for a command."""
        begun, self._next = self._next, None
        if begun is not None and begun.spare is not None:
            os.close(begun.requests)
            begun.spare.end()
        jvm, self._jvm, self._runs = self._jvm, None, 0
        if jvm is not None:
            with jvm.process, suppress(ProcessLookupError):
                os.killpg(jvm.process.pid, signal.SIGKILL)

    def _ask(self, command: Sequence[str]) -> tuple[int, dict[str, str] | None]:
        """Return the exit code of a command, and the variables of the Spark that it needs instead."""
        if self._jvm is not None and self._jvm.process.poll() is not None:  # a function may have ended it
            self.stop()
        begun, self._next = self._next or self._begun(command), None
        if begun.spare is not None:
            _, _, module, *arguments = command
            begun.spare.run_module(module, arguments)
        with os.fdopen(begun.requests) as pipe:
            try:
                text = pipe.read()
                code = begun.process.wait()
            except BaseException:
                begun.process.terminate()
                begun.process.wait()
                raise
        return code, json.loads(text) if code == _NEEDS_SPARK and text else None

    def _begun(self, command: Sequence[str], *, is_spare: bool = False) -> _Begun:
        """Begin a command, or a process that waits for it."""
        reading, writing = os.pipe()
        environment = self._environment(writing)
        try:
            if not is_spare:
                return _Begun(subprocess.Popen(command, env=environment, pass_fds=(writing,)), reading)
            wanted = None if self._jvm is None else {**self._jvm.wanted}
            spare = Spare.start(_COMMAND_MODULES, environment, pass_fds=(writing,), at_start=wanted)
            return _Begun(spare.process, reading, spare)
        finally:
            os.close(writing)

    def _environment(self, requests: int) -> dict[str, str]:
        work = self._folder / "work"
        work.mkdir(exist_ok=True)
        found = {**os.environ, _REQUESTS: str(requests), _FOLDER: str(work)}
        if (jvm := self._jvm) is not None:
            found |= {_PORT: str(jvm.port), _SECRET: jvm.secret, RESIDENT: digest({**jvm.wanted})}
        return found

    def _start(self, wanted: Mapping[str, str]) -> None:
        self.stop()
        environment = {"SPARK_LOCAL_IP": "127.0.0.1", **os.environ, **wanted}
        environment |= pinned_variables(environment)
        if (jars := spark_jars(environment)) is None:
            raise WatchError("pyspark is not installed, and SPARK_HOME is not set")
        arguments = shlex.split(environment.get(SUBMIT_ARGUMENTS, "pyspark-shell"))
        log = self._folder / "spark.log"
        with TemporaryDirectory(prefix="watch-", dir=_folder_in_memory()) as private, log.open("wb") as output:
            file = Path(private) / "connection"
            process = subprocess.Popen(
                [str(jars.parent / "bin" / "spark-submit"), *arguments],
                env={**environment, "SPARK_CONNECT_MODE": "0", _HANDED_OVER: str(file)},
                stdin=subprocess.PIPE,  # Spark ends when no process holds the other end
                stdout=output,
                stderr=output,
                start_new_session=True,  # Ctrl-C is for this process
            )
            self._jvm = _Jvm(process, wanted)
            port, secret = _connection(process, file, log)
        self._jvm = _Jvm(process, wanted, port, secret)


def _connection(process: subprocess.Popen[bytes], file: Path, log: Path) -> tuple[int, str]:
    """Return the port and the secret of a JVM that has started; raises WatchError."""
    until = time.monotonic() + _SECONDS
    while not file.is_file():
        if process.poll() is not None or time.monotonic() > until:
            lines = log.read_text(errors="replace").splitlines()[-_LINES:]
            raise WatchError("\n  ".join(["Spark does not start:", *lines]))
        time.sleep(0.05)
    content = file.read_bytes()
    return int.from_bytes(content[:4], "big"), content[8:].decode()


def _folder_in_memory() -> str | None:
    return str(_IN_MEMORY) if os.access(_IN_MEMORY, os.W_OK) else None


# Which files of a project have changed since a moment: those that a pipeline is made of, by size and time.

Snapshot: TypeAlias = Mapping[str, tuple[int, int, int]]
"""Files with their inode, size and time."""

_ENDINGS = (".py", ".yaml", ".yml", ".sql", ".json", ".toml", ".cfg", ".jar", ".zip", ".whl")
_NOT_LOOKED_AT = frozenset({"__pycache__", "node_modules", "site-packages", "spark-warehouse"})
_MOST_FILES = 20_000
_POLL_SECONDS, _QUIET_SECONDS = 0.25, 0.1


def take_snapshot(folder: Path) -> Snapshot:
    """Return the files below a folder that may be part of a pipeline; hidden folders are left out."""
    found: dict[str, tuple[int, int, int]] = {}
    above = f"{folder}{os.sep}"
    for path in _files(str(folder)):
        try:
            state = os.stat(path)
        except OSError:  # just removed, or a link to nothing
            continue
        found[path.removeprefix(above)] = (state.st_ino, state.st_size, state.st_mtime_ns)
        if len(found) == _MOST_FILES:
            break
    return found


def wait_for_change(folder: Path, before: Snapshot) -> str:
    """Return a file that differs from before, or is new or gone; waits until writing has ended."""
    while (now := take_snapshot(folder)) == before:
        time.sleep(_POLL_SECONDS)
    changed = next(name for name in {**now, **before} if now.get(name) != before.get(name))
    while True:  # an editor may write several files, or one in several steps
        time.sleep(_QUIET_SECONDS)
        if (later := take_snapshot(folder)) == now:
            return changed
        now = later


def _files(folder: str) -> Iterator[str]:
    for parent, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in _NOT_LOOKED_AT)
        for name in files:
            if name.endswith(_ENDINGS):
                yield os.path.join(parent, name)
