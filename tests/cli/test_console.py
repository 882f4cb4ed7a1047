"""Errors that a person can act on are printed without a traceback; others keep theirs."""

import errno

import pytest
import typer

from graph_compiler.cli.console import speaking_plainly
from graph_compiler.errors import StagingError


def test_errors_of_this_package_and_of_a_store_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    for error, words in (
        (StagingError("no such root"), "no such root\n"),
        (
            OSError(errno.EIO, "403 Forbidden", "s3a://lake/staging/x"),
            "s3a://lake/staging/x: 403 Forbidden\n  hint: `graph-compiler doctor` tries the store\n",
        ),
    ):
        with pytest.raises(typer.Exit) as ended, speaking_plainly():
            raise error
        assert ended.value.exit_code == 2
        assert capsys.readouterr().err == words


@pytest.mark.parametrize("key", ["/data/x", None])
def test_other_errors_keep_their_traceback(key: str | None) -> None:
    with pytest.raises(OSError, match="full"), speaking_plainly():
        raise OSError(errno.ENOSPC, "full", key)
