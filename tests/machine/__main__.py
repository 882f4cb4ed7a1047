"""Let the machine search for a while: `python -m tests.machine --minutes 60 --seed 1`.

It tries seed after seed until its time is over (a seed that has begun is finished), or until something is found: then
it prints the shortest sequence it knows that shows it, as calls that can be pasted into a test.
"""

from __future__ import annotations

import argparse
import signal
import sys
import time
import warnings
from collections.abc import Sequence

from tests.machine.alphabet import WITHOUT
from tests.machine.looking import MACHINES, Look, sessions
from tests.machine.tally import TALLY

_ENDED = 143
"""What a shell says of a process that SIGTERM has ended."""


class Ended(KeyboardInterrupt):
    """SIGTERM. Hypothesis would treat SystemExit as a failure of the tried code, but lets this through."""


def main() -> int:
    """Search until the time is over; return 1 if something was found, 143 after SIGTERM."""
    arguments = _arguments()
    WITHOUT.extend(arguments.without)
    warnings.simplefilter("ignore")
    told: list[int] = []

    def end_early(number: int, _frame: object) -> None:
        told.append(number)
        raise Ended

    signal.signal(signal.SIGTERM, end_early)
    try:
        with sessions(arguments.machine):  # Spark and the database end with us
            return _look(arguments, told)
    except Ended:
        return _ENDED


def _look(arguments: argparse.Namespace, told: Sequence[int]) -> int:
    end, seed, found = time.monotonic() + 60 * arguments.minutes, arguments.seed, 0
    while time.monotonic() < end and not (found and not arguments.go_on):
        for name in arguments.machine:
            look = Look(name, seed, arguments.examples, shrink=not arguments.first)
            words = look.find()
            if told:  # what was tried has taken it for a failure of its own
                return _ENDED
            print(look.line, flush=True)
            if words is not None:
                found += 1
                print(words, flush=True)
        seed += 1
    print(f"\n{TALLY.steps} steps in {TALLY.examples} worlds, seeds {arguments.seed} to {seed - 1}")
    print(TALLY.table())
    if arguments.refusals:
        print(*(f"{count:6} {words}" for words, count in TALLY.refusals.most_common()), sep="\n")
    return int(found > 0)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.machine", description=__doc__)
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--examples", type=int, default=20, help="worlds for each seed")
    parser.add_argument(
        "--machine", nargs="*", default=[name for name in MACHINES if name != "lake"], choices=list(MACHINES)
    )
    parser.add_argument("--without", nargs="*", default=[], help="words nothing drawn may have")
    parser.add_argument("--go-on", action="store_true", help="look further after a find")
    parser.add_argument("--first", action="store_true", help="show the first sequence, not the shortest")
    parser.add_argument("--refusals", action="store_true", help="list what was refused, and how")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
