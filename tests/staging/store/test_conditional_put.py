"""Writing an object once, though answers are lost: every order of what may happen to a request."""

from __future__ import annotations

from itertools import product

import pytest

from graph_compiler.staging.store import conditional_put
from graph_compiler.staging.store.conditional_put import TURNS, ask_repeatedly, put_once


class Bucket:
    """One key, which requests write with an id; `fates` says what happens to each request in turn."""

    def __init__(self, *fates: str, holder: str | None = None) -> None:
        self.holder, self.fates, self.ids = holder, list(fates), list[str]()

    def write(self, own: str) -> None:
        self.ids.append(own)
        fate = self.fates.pop(0) if self.fates else "answered"
        if fate == "other first":
            self.holder = "another's"
        if fate == "denied":
            raise PermissionError(13, "denied")
        if fate == "dropped":
            raise OSError(5, "no answer")
        is_refused = self.holder is not None
        if not is_refused:
            self.holder = own
        if is_refused:
            raise FileExistsError(17, "refused")
        if fate == "lost":
            raise OSError(5, "no answer")

    def written_by(self) -> str | None:
        return self.holder


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conditional_put, "_PAUSE", 0.0)


@pytest.mark.parametrize("fates", list(product(["answered", "lost", "dropped", "other first"], repeat=TURNS - 1)))
def test_a_write_is_won_exactly_if_the_object_is_its_own(fates: tuple[str, ...]) -> None:
    bucket = Bucket(*fates)
    is_won = put_once(bucket.write, bucket.written_by)
    assert is_won is (bucket.holder == bucket.ids[0])
    assert len(set(bucket.ids)) == 1


def test_equal_writers_have_their_own_ids() -> None:
    bucket = Bucket()
    assert put_once(bucket.write, bucket.written_by)
    assert not put_once(bucket.write, bucket.written_by)


def test_an_object_without_an_id_is_anothers() -> None:
    bucket = Bucket(holder="")
    assert not put_once(bucket.write, bucket.written_by)


def test_it_is_not_known_if_no_request_arrives() -> None:
    bucket = Bucket(*["dropped"] * TURNS)
    with pytest.raises(OSError, match="no answer"):
        put_once(bucket.write, bucket.written_by)
    assert len(bucket.ids) == TURNS


def test_a_denied_write_is_not_repeated() -> None:
    bucket = Bucket("denied")
    with pytest.raises(PermissionError):
        put_once(bucket.write, bucket.written_by)
    assert len(bucket.ids) == 1


def test_a_request_is_repeated_until_it_is_answered() -> None:
    answers: list[object] = [OSError(5, "busy"), OSError(5, "busy"), "content"]

    def request() -> object:
        answer = answers.pop(0)
        if isinstance(answer, OSError):
            raise answer
        return answer

    assert ask_repeatedly(request) == "content"
    answers[:] = [FileNotFoundError(2, "none"), "content"]
    with pytest.raises(FileNotFoundError):
        ask_repeatedly(request)
    answers[:] = [OSError(5, "busy")] * TURNS
    with pytest.raises(OSError, match="busy"):
        ask_repeatedly(request)
