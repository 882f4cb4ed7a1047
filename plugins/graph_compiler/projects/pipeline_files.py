"""Find pipelines by the name or the path of their modules and YAML files, and load them.

load_pipeline("flights")   →   Pipeline, of pipelines/flights.py or pipelines/flights.yaml
"""

from __future__ import annotations

import os
import re
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from importlib import import_module
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from inspect import signature
from pathlib import Path
from types import ModuleType

from graph_compiler.declaration.artifacts.user_artifact import YAML, project_of
from graph_compiler.declaration.environment import StreamExecutionEnvironment
from graph_compiler.declaration.functions import IMPORTABLE, WHERE_TO_MOVE
from graph_compiler.declaration.pipeline import IncompletePipelineError, Pipeline
from graph_compiler.declaration.refusals.collected import collecting_refusals
from graph_compiler.declaration.refusals.foreign_names import OF_SESSION
from graph_compiler.declaration.streams.settings_methods import HasSettings
from graph_compiler.errors import (
    FunctionNotImportableError,
    GraphCompilerError,
    InvalidPipelineError,
    Problem,
    SourceLocation,
)
from graph_compiler.identifiers import PIPELINES, did_you_mean

_SUFFIXES = (".py", YAML)


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineFile:
    """A module or YAML file: its dotted name, and the folder that the name is relative to."""

    name: str
    file: Path
    root: Path

    @property
    def shown(self) -> str:
        """The shortest path of the file from the working directory, for messages."""
        here = Path.cwd()
        return str(self.file.relative_to(here) if self.file.is_relative_to(here) else self.file)


def load_pipeline(name: str | Path) -> Pipeline:
    """Return the pipeline that `flights`, `pipelines/flights.py` or `pipelines/flights.yaml` declares.

    Raises InvalidPipelineError if there is no such file, or both, or if its code fails.
    """
    module = find_pipeline(str(name))
    pipeline = load_declared(module)
    if pipeline is None:
        raise InvalidPipelineError(module.file.stem, [nothing_declared(module)])
    return pipeline


def nothing_declared(module: PipelineFile) -> Problem:
    """Return the problem of a module that declares no pipeline, with what it has instead."""
    named = vars(sys.modules[module.name]) if module.name in sys.modules else {}
    others = [key for key, value in named.items() if isinstance(value, StreamExecutionEnvironment)]
    found = f"; its 'env' is a {type(named['env']).__name__}" if "env" in named else ""
    hint = f'env = StreamExecutionEnvironment("{module.file.stem}")'
    if others:
        hint = f"'{others[0]}' is one: rename it to 'env'"
    return Problem(
        message=f"{module.shown} has no StreamExecutionEnvironment called 'env'{found}",
        hint=hint,
        declared_at=SourceLocation(module.shown, 1),
    )


def load_declared(module: PipelineFile) -> Pipeline | None:
    """Return what a YAML file or a module's `env` declares, None without an `env`; raises like `load_pipeline`.

    A module's output goes to standard error, since standard output belongs to the command.
    """
    _search_first(module.root)
    if module.file.suffix == YAML:
        # Imported when needed: building the models of the whole API takes longer than compiling a pipeline.
        from graph_compiler.projects.yaml.reader import read_pipeline

        with redirect_stdout(sys.stderr):
            return read_pipeline(Path(module.shown))
    if (hidden := _hidden(module)) is not None:
        raise InvalidPipelineError(module.file.stem, [hidden])
    with redirect_stdout(sys.stderr), importing(module.file.stem, module.file) as refused:
        imported = import_module(module.name)
    environment = getattr(imported, "env", None)
    pipeline, name = None, module.file.stem
    if isinstance(environment, StreamExecutionEnvironment):
        pipeline = None if environment.is_refused else environment.pipeline()
        name = environment.name or name
        # Another module may have imported this one before; then its refusals are reported there.
        known = environment.refused
        known.extend(one for one in refused if one not in known and _is_in(one, module.file))
        refused = known
    if refused:
        raise IncompletePipelineError(name, refused, declared=pipeline)
    return pipeline


def _is_in(problem: Problem, file: Path) -> bool:
    """Whether a problem is in a file; a connector that is not used is refused without an environment."""
    return problem.declared_at is not None and Path(problem.declared_at.file).resolve() == file


def find_pipeline(text: str) -> PipelineFile:
    """Return the file of `flights`, `pipelines.flights`, `pipelines/flights.py` or `pipelines/flights.yaml`.

    Raises InvalidPipelineError if there is no such file, or a module and a YAML file with the same name.
    """
    if text.endswith((".py", YAML)) or os.sep in text:
        return pipeline_at(Path(text))
    name = text if text.startswith(f"{PIPELINES}.") else f"{PIPELINES}.{text}"
    path = name.replace(".", "/")
    declared = Path(path + YAML)
    own = Path(f"{path}.py")
    file = own.resolve() if own.is_file() else _file_of(name)
    if declared.is_file() and file is not None:
        problem = Problem(message=f"there are {path}.py and {declared}", allowed="one of them")
        raise InvalidPipelineError(text, [problem])
    if declared.is_file():
        return pipeline_at(declared)
    if file is None:
        known = pipeline_names()
        problem = Problem(
            message=f"there is neither {path}.py nor {declared}",
            allowed=", ".join(known) or None,
            hint=did_you_mean(text, known) or f"run this in the folder that holds {PIPELINES}/",
        )
        raise InvalidPipelineError(text, [problem])
    return PipelineFile(name=name, file=file, root=file.parents[name.count(".")])


def pipeline_names() -> list[str]:
    """Return the names of the files in pipelines/ that may declare a pipeline."""
    files = (path for path in Path(PIPELINES).glob("[!_.]*") if path.suffix in _SUFFIXES)
    return sorted({path.stem for path in files})


def pipeline_at(path: Path) -> PipelineFile:
    """Return a file that may declare a pipeline; a module gets the name under which Spark's driver would import it.

    Raises InvalidPipelineError if there is no such file, or the name cannot be imported.
    """
    file = path.resolve()
    root = project_of(file)
    parts = file.relative_to(root).with_suffix("").parts
    if not file.is_file():
        raise InvalidPipelineError(path.stem, [Problem(message=f"there is no file {path}")])
    if file.suffix == YAML:
        return PipelineFile(name=".".join(parts), file=file, root=root)
    if file.suffix != ".py" or not all(part.isidentifier() for part in parts):
        problem = Problem(
            message=f"{path} cannot be imported by name",
            allowed=f"a {YAML} file, or a .py file whose path has letters, digits and '_' only",
        )
        raise InvalidPipelineError(path.stem, [problem])
    return PipelineFile(name=".".join(parts), file=file, root=root)


def files_below(folder: Path) -> list[str]:
    """Return the files below a folder that may declare pipelines: those with no `_` or `.` at the start of a name."""
    paths = (path for path in sorted(folder.rglob("*")) if path.suffix in _SUFFIXES)
    files = (path.relative_to(folder) for path in paths)
    return [str(folder / file) for file in files if not any(part.startswith(("_", ".")) for part in file.parts)]


def _file_of(name: str) -> Path | None:
    """Return the file of a module outside this folder, wherever on sys.path it is."""
    if not all(part.isidentifier() for part in name.split(".")):
        return None
    _search_first(Path.cwd())
    spec = _spec_of(name)
    return Path(spec.origin).resolve() if spec and spec.origin else None


def _hidden(module: PipelineFile) -> Problem | None:
    """Return the problem of a file whose name imports a different one.

    A package with an `__init__.py` hides folders without one, even those that come before it on sys.path.
    """
    package = module.name.partition(".")[0]
    own = module.root / package / "__init__.py"
    for name in (package, module.name):
        spec = _spec_of(name)
        other = spec.origin if spec else None
        if other is None or Path(other).resolve() in (module.file, own):
            continue
        hint = "run this in the folder the file belongs to"
        if name != module.name and not own.is_file():
            hint = (
                f"another project is on PYTHONPATH: write an empty {package}/__init__.py here, "
                "so that this folder's is found first"
            )
        return Problem(message=f"{module.shown} cannot be imported: '{name}' is {other}", hint=hint)
    return None


def _spec_of(name: str) -> ModuleSpec | None:
    try:
        return find_spec(name)
    except Exception:  # its package is missing or cannot be imported: importing it says why
        return None


def _search_first(folder: Path) -> None:
    """Put a folder first on sys.path, before whatever PYTHONPATH names."""
    entry = str(folder)
    if sys.path[:1] != [entry]:
        sys.path[:] = [entry, *(other for other in sys.path if other != entry)]


_SUGGESTION = re.compile(r"\. Did you mean:? '[^']*'\?$")

_CALLED = re.compile(r"(\w+)\.__init__\(\) ")
_UNEXPECTED = re.compile(r"unexpected keyword argument '(\w+)'")
_FILE = re.compile(r" \(/[^()]*\)$")
_NAME = re.compile(r"cannot import name '(\w+)'")
_NO_SESSION = "[SESSION_OR_CONTEXT_NOT_EXISTS]"
"""How PySpark begins its message if something needs a Spark session and there is none."""
_WITHOUT_SESSION = (
    "there is no Spark session when a pipeline is loaded: write the type of a UDF as an object, "
    "@udf(StringType()), and columns, as col(…), inside of functions"
)


@contextmanager
def importing(name: str, file: Path) -> Iterator[list[Problem]]:
    """Yield the refused calls; raises InvalidPipelineError for them and for any exception of the import.

    An exit of the program counts as a failure, too.
    """
    with collecting_refusals() as refused:
        try:
            yield refused
        except InvalidPipelineError as error:
            raise InvalidPipelineError(error.pipeline, [*refused, *error.problems]) from None
        except (Exception, SystemExit) as error:
            problem = _problem(error, file)
            # what fails at the line of a refused call fails because of it: `a, b = rows.randomSplit(…)`
            lines = {known.declared_at for known in refused}
            problems = refused if problem.declared_at in lines else [*refused, problem]
            raise IncompletePipelineError(name, problems, declared=_declared_before(error, file)) from None


def _declared_before(error: BaseException, file: Path) -> Pipeline | None:
    """Return what a module declared before it failed; its problems are also reported."""
    for frame, _ in traceback.walk_tb(error.__traceback__):
        environment = frame.f_globals.get("env")
        if frame.f_code.co_filename == str(file) and isinstance(environment, StreamExecutionEnvironment):
            return None if environment.is_refused else environment.pipeline()
    return None


def _problem(error: BaseException, file: Path) -> Problem:
    if isinstance(error, SyntaxError):
        return _syntax_error(error, file)
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if Path(frame.filename).parent == file.parent]
    where = own[-1] if own else None
    location = SourceLocation(where.filename, where.lineno or 1) if where else None
    by_way = [f"{frame.filename}:{frame.lineno}" for frame in own[:-1] if frame.name == "<module>"]
    hint = f"via {', '.join(by_way)}" if by_way else None
    if isinstance(error, GraphCompilerError):
        is_function = isinstance(error, FunctionNotImportableError)
        return Problem(
            message=str(error),
            allowed=IMPORTABLE if is_function else None,
            hint=WHERE_TO_MOVE if is_function else hint,
            declared_at=location or SourceLocation(str(file), 1),
        )
    words = "".join(traceback.format_exception_only(error)).strip().replace(".__init__()", "()")
    line = f"`{where.line}` raised " if where and where.line else ""
    form, meant = _form_of_call(error) if isinstance(error, TypeError) else (None, None)
    return Problem(
        operator=_operator(error),
        allowed=form,
        message=f"it cannot be loaded: {line}{_FILE.sub('', _SUGGESTION.sub('', words))}",
        hint=meant or _hint(error) or hint,
        declared_at=location or SourceLocation(str(file), 1),
    )


def _operator(error: BaseException) -> str | None:
    """Return the operator on which a missing method was called."""
    if isinstance(error, AttributeError) and isinstance(error.obj, HasSettings):
        return error.obj.place
    return None


def _hint_of_attribute(error: AttributeError) -> str | None:
    if not isinstance(error.obj, HasSettings | ModuleType | StreamExecutionEnvironment):
        return None
    public = [name for name in dir(error.obj) if not name.startswith("_")]
    name = str(error.name)
    if (near := did_you_mean(name, public)) or not hasattr(error.obj, "select"):
        return near
    return f'if {name} is a column, name it in an expression: filter("{name} IS NOT NULL")'


def _form_of_call(error: TypeError) -> tuple[str | None, str | None]:
    """Return the signature of a class that was called with wrong arguments, and a hint for the argument."""
    found = _CALLED.match(str(error))
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    kind = frames[-1].f_globals.get(found[1]) if found else None
    if not isinstance(kind, type):
        return None, None
    takes = signature(kind).parameters
    form = ", ".join(str(one.replace(annotation=one.empty)) for one in takes.values())
    odd = _UNEXPECTED.search(str(error))
    return f"{kind.__name__}({form})", did_you_mean(odd[1], takes) if odd else None


def _syntax_error(error: SyntaxError, file: Path) -> Problem:
    return Problem(
        message=f"not valid Python: {error.msg}",
        declared_at=SourceLocation(error.filename or str(file), error.lineno or 1),
        column=error.offset,
    )


def _hint(error: BaseException) -> str | None:
    if isinstance(error, ModuleNotFoundError):
        return "is it installed here, and is this the folder that holds pipelines/?"
    if isinstance(error, AttributeError):
        return _hint_of_attribute(error)
    if isinstance(error, NameError):
        frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
        return OF_SESSION.get(str(error.name)) or did_you_mean(str(error.name), frames[-1].f_globals)
    if isinstance(error, ImportError) and (name := _NAME.search(str(error))):
        return did_you_mean(name[1], dir(sys.modules.get(str(error.name))))
    return _WITHOUT_SESSION if _needs_session(error) else None


def _needs_session(error: BaseException) -> bool:
    """Whether PySpark found no session; for columns it only asserts that there is one."""
    frames = traceback.extract_tb(error.__traceback__)
    is_assertion = isinstance(error, AssertionError) and bool(frames)
    return _NO_SESSION in str(error) or (is_assertion and "pyspark" in Path(frames[-1].filename).parts)
