"""Functions of every kind run on executors that have Spark, pandas and nothing of the project or of the user."""

import json

import pytest

from tests.cluster.conftest import ClusterHome, run
from tests.harness.reference import rows

pytestmark = pytest.mark.cluster


def test_functions_of_every_kind_run_on_the_executors(cluster_home: ClusterHome) -> None:
    home = cluster_home
    sales = home.cluster.shared / "sales.csv"
    quantities = [*range(-2, 40)]
    sales.write_text("key,quantity\n" + "".join(f"{n % 5},{n}.0\n" for n in quantities))
    run(home, "stock", {"input": str(sales), "output": str(home.output)})

    priced = {n: (n * 2.5, n * 2.5 * 1.5) for n in quantities if n >= 0}
    dear = {n: taxed for n, (_, taxed) in priced.items() if taxed > 100}
    assert rows(home.output / "negative") == [(3, -2.0), (4, -1.0)]
    assert len(rows(home.output / "cheap")) == len(priced) - len(dear)
    assert rows(home.output / "even") == sorted((n % 5, float(n), *priced[n]) for n in dear if n % 2 == 0)
    odd = [(n % 5, taxed) for n, taxed in dear.items() if n % 2 == 1]
    while max(amount for _, amount in odd) >= 100:
        odd = [(key, round(amount / 2, 2)) for key, amount in odd]
    assert rows(home.output / "halved") == sorted(odd)

    archives = [*home.staging.glob("stock/*/code/*.zip")]
    assert len(archives) == 1
    submissions = [*home.staging.glob("stock/*/tasks/*/*/submission.json")]
    assert len(submissions) == 2
    for each in submissions:
        command = json.loads(each.read_text())["command"]
        assert command[command.index("--py-files") + 1] == str(archives[0])
