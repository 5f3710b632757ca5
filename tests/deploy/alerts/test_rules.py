"""The alerts and the dashboard name what exists, and promtool reads them."""

import json
import re
from pathlib import Path

import pytest

from builders import app, worker
from builders.cli import serve
from builders.forwarding import mail_log, server
from builders.kit.process import metrics
from tests.deploy.alerts.promtool import PROMETHEUS, QUERIES, RULES, needs_promtool, run
from tests.promises.versions import ROOT

DECLARING = [app, worker, serve, server, mail_log]  # importing them declares all metrics
EXPRESSIONS = [*(rule["expr"] for rule in RULES.values()), *QUERIES]
METRIC = re.compile(r"\b(builders_\w+)(?:\{([^}]*)\})?")
PARTS = {"histogram": ("_bucket", "_count", "_sum"), "counter": ("",), "gauge": ("",)}


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_each_metric_and_label_of_an_expression_is_declared(expression: str) -> None:
    declared = {f"{each.name}{end}": each for each in metrics.DECLARED for end in PARTS[each.kind]}
    for name, selectors in METRIC.findall(expression):
        labels = set(re.findall(r"(\w+)\s*(?:=~|!~|!=|=)", selectors))
        assert labels <= {*declared[name].labels}


def test_an_operation_that_waits_for_news_is_not_slow() -> None:
    waiting = {
        operation["operationId"]
        for path in json.loads((ROOT / "src" / "builders" / "openapi.json").read_bytes())["paths"].values()
        for operation in path.values()
        if isinstance(operation, dict)
        and any(each.get("name") == "wait" for each in operation.get("parameters", ()))
    }
    [left_out] = re.findall(r'operation!~"([^"]+)"', RULES["BuildersSlow"]["expr"])
    assert {*left_out.split("|")} == waiting


@pytest.mark.system
@needs_promtool
def test_promtool_reads_the_configuration_and_the_rules() -> None:
    assert f"{len(RULES)} rules" in run("check", "config", PROMETHEUS / "prometheus.yaml")


@pytest.mark.system
@needs_promtool
def test_promtool_reads_each_query_of_the_dashboard(tmp_path: Path) -> None:
    rules = [{"record": f"query:{number}", "expr": query} for number, query in enumerate(QUERIES)]
    file = tmp_path / "rules.yaml"
    file.write_text(json.dumps({"groups": [{"name": "dashboard", "rules": rules}]}), encoding="utf-8")
    assert f"{len(QUERIES)} rules found" in run("check", "rules", file)


@pytest.mark.parametrize("name", RULES)
def test_each_alert_has_its_page(name: str) -> None:
    page = f"docs/how-to/alerts/{name}.md"
    assert RULES[name]["annotations"]["runbook"] == page
    assert (ROOT / page).read_text(encoding="utf-8").startswith(f"# {name}\n")
