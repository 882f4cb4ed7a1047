"""The four ways an operator can run: in one task or cut from the next, its parallelism set or left to Spark."""

import pytest

FUSED, STAGED = "ALL_EXCHANGES_PIPELINED", "ALL_EXCHANGES_BLOCKING"
WAYS = {
    "fused-unset": (FUSED, None),
    "staged-set": (STAGED, 3),
    "fused-set": (FUSED, 3),
    "staged-unset": (STAGED, None),
}


def ways(*always: str) -> pytest.MarkDecorator:
    """Run a test in all four ways, with `mode` and `parallelism`; but for `always`, in `make test-long` only."""
    return pytest.mark.parametrize(
        ("mode", "parallelism"),
        [pytest.param(*way, id=name, marks=[] if name in always else [pytest.mark.long]) for name, way in WAYS.items()],
    )
