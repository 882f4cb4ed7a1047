"""docs/metrics.md and the dashboard name the metrics that are sent, with their tags, and no others."""

import json
import re
from pathlib import Path
from typing import Any

from graph_compiler.staging.attempts.attempt_metrics import TASK_TAGS, MetricName

ROOT = Path(__file__).parents[3]
PREFIX = "airflow_graph_compiler_"
SERIES = r'\{__name__=~"(?P<name>\w+)\(_total\)\?", pipeline=~"\$pipeline"\}'
SUM = rf"sum by \((?P<by>[\w, ]+)\) \((?P<series>{SERIES})\)"
QUERY = re.compile(
    rf"clamp_min\({SUM} - "
    r"\(sum by \((?P=by)\) \((?P=series) offset \$__interval\) or sum by \((?P=by)\) \((?P=series)\) \* 0\), 0\)"
)
"""What was added in an interval. Prometheus' own `increase` leaves out the first value of a series, and a counter of
restarts often has no other.
"""
GAUGE = re.compile(
    r'(?:max|time\(\) \* 1000 - min) by \((?P<by>\w+)\) \(\{__name__="(?P<name>\w+)", pipeline=~"\$pipeline"\}\)'
)


def in_prometheus(name: str) -> str:
    return "airflow_" + name.replace(".", "_")


def dashboard() -> dict[str, Any]:
    text = (ROOT / "docs" / "grafana" / "graph_compiler.json").read_text()
    found: dict[str, Any] = json.loads(text)
    return found


def test_the_table_has_every_metric_with_its_kind_and_tag() -> None:
    text = (ROOT / "docs" / "metrics.md").read_text()
    rows = re.findall(r"^\| `(graph_compiler[\w.]+)` \| (\w+)[^|]* \| (?:`(\w+)`)? ?\|", text, re.M)
    assert rows == [
        (name.value, "timing" if name.is_timing else "gauge" if name.is_gauge else "counter", name.own_tag or "")
        for name in MetricName
    ]
    shown = text.split("Every metric has the tags ")[1].split(", and")[0]
    assert tuple(re.findall(r"`(\w+)`", shown)) == TASK_TAGS


def test_the_dashboard_asks_for_metrics_that_are_sent_by_tags_that_they_have() -> None:
    names = {in_prometheus(name.value): name for name in MetricName}
    asked = set()
    for panel in dashboard()["panels"]:
        for target in panel["targets"]:
            query = QUERY.fullmatch(target["expr"]) or GAUGE.fullmatch(target["expr"])
            assert query is not None, target["expr"]
            name = names[query["name"]]
            assert name.is_gauge == (query.re is GAUGE)
            asked.add(name)
            tags = {*TASK_TAGS, name.own_tag}
            assert set(query["by"].split(", ")) <= tags
            assert set(re.findall(r"\{\{(\w+)\}\}", target["legendFormat"])) <= set(query["by"].split(", "))
    assert asked == {name for name in MetricName if not name.is_timing}


def test_the_dashboard_lists_pipelines_by_a_metric_that_each_run_sends() -> None:
    (pipelines,) = (one for one in dashboard()["templating"]["list"] if one["name"] == "pipeline")
    assert in_prometheus(MetricName.FINISH.value) in pipelines["query"]["query"]
    assert PREFIX in pipelines["query"]["query"]
