"""The publications of a target, in order, whichever run or pipeline makes them.

    settle    carry out what others decided about this target and did not finish, or give up what cannot be; give
              the next number
    decide    put, under that number, what will be done; from here on the outcome is certain
    finish    put: it has been done

Two executions that took the same number cannot both decide: the loser changes nothing, and is tried again. Where what
it would do does not depend on what others did, it takes the next number instead.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

from graph_compiler.deployment.commit_store import CommitStore
from graph_compiler.deployment.publications import GIVEN_UP, Publication
from graph_compiler.deployment.staging_layout import StagingLayout
from graph_compiler.deployment.wire import from_json, to_json
from graph_compiler.errors import DecisionLostError, PublicationConflictError, PublicationError
from graph_compiler.identifiers import OperatorId

Decided = TypeVar("Decided", bound=Publication)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ledger:
    """The publications of all targets, as one run sees them, by the plan its task has.

    A sink of the run is known by its operator's id only within a plan: a change of the pipeline may move that.
    """

    store: CommitStore
    layout: StagingLayout
    plan_id: str

    def settle(
        self, target: str, operator_id: OperatorId, carry_out: Callable[[Publication], None]
    ) -> int:
        """Finish what others began with the target, and give the next number.

        Raises PublicationError for a target that another sink of this run and plan wrote last.
        """
        keys = set(self.store.keys(self.layout.publications(target)))
        number = 0
        while self.layout.intent(target, number) in keys:
            if self.layout.done(target, number) not in keys:
                self._carry_out(self._publication(target, number), carry_out)
            number += 1
        if number:
            self._refuse_another_sink(json.loads(self._content(target, number - 1)), operator_id)
        return number

    def of_this_run(
        self,
        target: str,
        operator_id: OperatorId,
        before: int,
        *,
        since: int = 0,
        given_up: bool = False,
    ) -> tuple[Publication, ...]:
        """Give what attempts of this run have published to the target, in order, by this plan or an earlier one.

        With `given_up` also what they decided and was given up, of which parts may be there. Raises
        PublicationError where another sink of this plan has.
        """
        found: list[Publication] = []
        for number in range(since, before):
            content = self._content(target, number)
            document = json.loads(content)
            # A target that has been written for years has thousands: only those of this run are decoded.
            if self._is_of_this_run(document) and (
                given_up or self.store.get(self.layout.done(target, number)) != GIVEN_UP
            ):
                self._refuse_another_sink(document, operator_id)
                found.append(from_json(Publication, content))
        return tuple(found)

    def documents(self, target: str, before: int) -> Iterator[Mapping[str, object]]:
        """Yield what was decided to publish to the target, in order, as it was recorded."""
        for number in range(before):
            yield json.loads(self._content(target, number))

    def decide(self, publication: Publication) -> None:
        """Record what will be done; raises DecisionLostError if another execution was first."""
        key = self.layout.intent(publication.target, publication.number)
        content = to_json(publication).encode()
        if self.store.put_if_absent(key, content):
            return
        if (
            self.store.get(key) != content
        ):  # else it is this one's: the answer was lost, and asked for again
            raise DecisionLostError(
                f"another execution has published {publication.target} since this one began; "
                "nothing of this one is visible"
            )

    def decide_behind_others(
        self,
        publication: Decided,
        carry_out: Callable[[Publication], None],
        renew: Callable[[Decided, tuple[Publication, ...]], Decided] = lambda own, others: own,  # noqa: ARG005  # most need no look
    ) -> Decided:
        """Decide, under the next number if other runs were first; gives what was decided.

        `renew` gives the publication as it must be behind what others have decided meanwhile. Raises
        DecisionLostError where an execution of this run was first: that one counts.
        """
        while True:
            try:
                self.decide(publication)
                return publication
            except DecisionLostError:
                target, operator_id = publication.target, publication.operator_id
                number = self.settle(target, operator_id, carry_out)
                if self.of_this_run(target, operator_id, number, since=publication.number):
                    raise
                others = range(publication.number, number)
                known = tuple(self._publication(target, other) for other in others)
                publication = replace(renew(publication, known), number=number)

    def finish(self, publication: Publication) -> None:
        """Record that it has been done."""
        self.store.put_if_absent(self.layout.done(publication.target, publication.number), b"{}")

    def give_up(self, publication: Publication) -> None:
        """Record that it will not be done: the target refuses it for good, or its rows are lost."""
        key = self.layout.done(publication.target, publication.number)
        self.store.put_if_absent(key, GIVEN_UP)

    def _carry_out(
        self, publication: Publication, carry_out: Callable[[Publication], None]
    ) -> None:
        """Carry out what another execution decided, or give it up where its rows are in no place any more."""
        try:
            carry_out(publication)
        except PublicationConflictError as error:
            # Nobody publishes behind an intent that is not done: without the record, they were taken away by hand.
            if self.store.get(self.layout.done(publication.target, publication.number)) is None:
                print(
                    f"graph_compiler: gave up what execution {publication.execution_id} of run {publication.run_id} "
                    f"decided to publish: {error}",
                    file=sys.stderr,
                )
                self.give_up(publication)

    def _publication(self, target: str, number: int) -> Publication:
        return from_json(Publication, self._content(target, number))

    def _content(self, target: str, number: int) -> bytes:
        content = self.store.get(self.layout.intent(target, number))
        assert content is not None, "publications are never deleted"
        return content

    def _is_of_this_run(self, document: Mapping[str, object]) -> bool:
        run = (self.layout.pipeline, self.layout.run_id)
        return (document["pipeline"], document["run_id"]) == run

    def _refuse_another_sink(self, document: Mapping[str, object], operator_id: OperatorId) -> None:
        if (
            self._is_of_this_run(document)
            and document["plan_id"] == self.plan_id
            and document["operator_id"] != operator_id
        ):
            target = document["target"]
            raise PublicationError(f"its target {target} was written by another sink of this run")
