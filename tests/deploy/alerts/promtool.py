"""The alerts and the dashboard of deploy, evaluated by promtool over metrics of the service."""

import json
import os
import re
import subprocess
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import pytest
import yaml  # type: ignore[import-untyped] # it has no types
from prometheus_client import Metric

from builders.kit.process import metrics
from tests.promises.versions import ROOT

PROMETHEUS = ROOT / "deploy" / "prometheus"
RULES: dict[str, Any] = {
    rule["alert"]: rule
    for group in yaml.safe_load((PROMETHEUS / "alerts.yaml").read_text(encoding="utf-8"))["groups"]
    for rule in group["rules"]
}
QUERIES: list[str] = [
    target["expr"]
    for panel in json.loads((ROOT / "deploy" / "grafana" / "builders.json").read_text(encoding="utf-8"))["panels"]
    for target in panel.get("targets", ())
]
PROMTOOL = "PROMTOOL"  # path of the program, in the environment
needs_promtool = pytest.mark.skipif(PROMTOOL not in os.environ, reason="tests/deploy/alerts/check unpacks it")
UP = 'up{job="builders",instance="one"}'
TARGET = ("job", "builders"), ("instance", "one")
HEALTHY_MIN = 120  # longer than each window and `for` of a rule
MARGIN_MIN = 5
_COUNTER = re.compile(r"_(total|count|sum|bucket)\{")
Values = Mapping[str, float]  # by series
Test = TypeVar("Test", bound=Callable[..., Any])

made: set[str] = set()  # alerts whose fault a test makes


def makes(name: str) -> Callable[[Test], Test]:
    """Decorate a test that makes the fault of an alert; its argument `alert` is that alert."""
    made.add(name)

    def decorate(test: Test) -> Test:
        marked: Test = pytest.mark.parametrize("alert", [name], indirect=True)(
            pytest.mark.system(needs_promtool(test))
        )
        return marked

    return decorate


def values(families: Iterable[Metric] | None = None) -> Values:
    """Return the values of a page, by default those that this process counts, as Prometheus names their series."""
    found = {UP: 1.0}
    for family in metrics.REGISTRY.collect() if families is None else families:
        for sample in family.samples:
            labels = ",".join(f'{name}="{value}"' for name, value in (*sample.labels.items(), *TARGET))
            found[f"{sample.name}{{{labels}}}"] = sample.value
    return found


def run(*words: str | Path) -> str:
    """Run promtool and return what it says; fail the test if it finds a fault."""
    done = subprocess.run([os.environ[PROMTOOL], *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@dataclass(frozen=True, slots=True, kw_only=True)
class Alert:
    """An alert, and a folder for what promtool reads."""

    name: str
    folder: Path

    def check(self, before: Values, after: Values, *, repeated: bool = True) -> None:
        """Fail the test unless the alert fires after the fault and not before.

        The values before are constant. What the fault counted is counted each minute from then on, or once.
        """
        wait = re.fullmatch(r"(\d+)([mh])", RULES[self.name].get("for", "0m"))
        assert wait is not None
        end = HEALTHY_MIN + int(wait[1]) * {"m": 1, "h": 60}[wait[2]] + MARGIN_MIN
        series = [
            {"series": each, "values": _points(each, before.get(each), after.get(each), repeated, end)}
            for each in sorted({*before, *after})
            if each.partition("{")[0] in RULES[self.name]["expr"]
        ]
        fires = f'count(ALERTS{{alertname="{self.name}",alertstate="firing"}}) or vector(0)'
        expected = [
            {"expr": fires, "eval_time": f"{minute}m", "exp_samples": [{"labels": "{}", "value": is_firing}]}
            for minute, is_firing in ((HEALTHY_MIN - 1, 0), (end, 1))
        ]
        test = {"interval": "1m", "input_series": series, "promql_expr_test": expected}
        file = self.folder / "test.yaml"
        file.write_text(json.dumps({"rule_files": [str(PROMETHEUS / "alerts.yaml")], "tests": [test]}, indent=1))
        run("test", "rules", file)


def _points(series: str, before: float | None, after: float | None, repeated: bool, end: int) -> str:
    """Return the values of a series for each minute."""
    begun, rest = before or 0.0, end - HEALTHY_MIN
    first = f"_x{HEALTHY_MIN}" if before is None else f"{before:f}+0x{HEALTHY_MIN - 1}"
    if after is None:
        return f"{first} stale"
    step = after - begun if _COUNTER.search(series) and repeated else 0.0
    return f"{first} {after:f}{step:+f}x{rest}"
