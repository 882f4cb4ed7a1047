"""The four ways an operator can run: in one task with the next or not, its parallelism set or left to Spark.

Two of them cover both values of each factor, and always run; the other two complete the square in `make test-long`.
"""

import pytest

FUSED, STAGED = "ALL_EXCHANGES_PIPELINED", "ALL_EXCHANGES_BLOCKING"

every_way = pytest.mark.parametrize(
    ("mode", "parallelism"),
    [
        pytest.param(FUSED, None, id="fused-unset"),
        pytest.param(STAGED, 3, id="staged-set"),
        pytest.param(FUSED, 3, id="fused-set", marks=pytest.mark.long),
        pytest.param(STAGED, None, id="staged-unset", marks=pytest.mark.long),
    ],
)
