"""The files of deploy: what a start relies on. tests/deploy/check runs them."""

import json
import re
import shutil
import subprocess
import sys
from configparser import RawConfigParser
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped] # it has no types

from builders.cli.session import CannotStart
from tests.promises.versions import ROOT

DEPLOY = ROOT / "deploy"
UNITS = sorted((DEPLOY / "systemd").glob("*.service"))
COMPOSE = ["compose", "postgresql"]
KUSTOMIZATIONS = [".", "setup", "before", "after"]
GRACE_S = 60


def sandbox(unit: Path) -> list[str]:
    return unit.read_text(encoding="utf-8").partition("# The sandbox")[2].partition("UMask=")[0].splitlines()


def service(unit: Path) -> dict[str, str]:
    parser = RawConfigParser(strict=False)
    parser.optionxform = str  # type: ignore[assignment,method-assign] # as the library documents it
    parser.read(unit)
    return dict(parser["Service"])


def test_all_units_have_the_same_sandbox() -> None:
    assert len(UNITS) == 5
    assert len(sandbox(UNITS[0])) > 20
    assert [unit.name for unit in UNITS if sandbox(unit) != sandbox(UNITS[0])] == []


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.stem)
def test_a_unit_gets_secrets_as_files_and_time_to_stop(unit: Path) -> None:
    found = service(unit)
    assert found["LoadCredential"] == "builders:/etc/builders/secrets"
    assert found["User"] == "builders"
    if found["Type"] == "notify":
        assert int(found["TimeoutStopSec"]) == GRACE_S
        assert "--no-migrate" in found["ExecStart"]
        assert (found["Restart"], int(found["RestartPreventExitStatus"])) == ("always", CannotStart.exit_code)


def test_commands_have_the_settings_of_the_units() -> None:
    text = (DEPLOY / "systemd" / "builders").read_text(encoding="utf-8")
    same = [
        "EnvironmentFile",
        "LoadCredential",
        "StateDirectory",
        "StateDirectoryMode",
        "WorkingDirectory",
        "ProtectProc",
    ]
    for key in same:
        assert f"--property={key}={service(UNITS[0])[key]} " in text
    # Without the same namespace of users, a command cannot read what the processes say.
    assert [unit.name for unit in UNITS if "PrivateUsers" in service(unit)] == []


@pytest.mark.parametrize("name", COMPOSE)
def test_a_compose_file_is_valid(name: str) -> None:
    check = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.compose-spec"]
    subprocess.run([*check, DEPLOY / "compose" / f"{name}.yaml"], check=True, capture_output=True)


@pytest.mark.parametrize("name", COMPOSE)
def test_a_container_has_least_rights_and_time_to_stop(name: str) -> None:
    described = yaml.safe_load((DEPLOY / "compose" / f"{name}.yaml").read_text(encoding="utf-8"))
    ours = [each for each in described["services"].values() if each["image"] == "builders"]
    assert ours
    for each in ours:
        assert (each["read_only"], each["cap_drop"]) == (True, ["ALL"])
        assert each["command"] == ["migrate"] or each["stop_grace_period"] == f"{GRACE_S}s"
        assert all(port.startswith("127.0.0.1:") for port in each.get("ports", []))
        assert set(each["secrets"]) <= {*described["secrets"]}


@pytest.fixture(scope="module")
def manifests() -> list[dict[str, Any]]:
    if shutil.which("kubectl") is None:
        pytest.skip("kubectl is not here; script/system has it")
    made = []
    for name in KUSTOMIZATIONS:
        words = ["kubectl", "kustomize", str(DEPLOY / "kubernetes" / name)]
        made += yaml.safe_load_all(subprocess.run(words, check=True, capture_output=True, text=True).stdout)
    return made


def test_each_pod_has_least_rights(manifests: list[dict[str, Any]]) -> None:
    pods = [each["spec"]["template"]["spec"] for each in manifests if each["kind"] in {"Deployment", "Job"}]
    assert len(pods) == 5
    for pod in pods:
        of_pod = pod["securityContext"]
        assert (of_pod["runAsNonRoot"], of_pod["seccompProfile"]) == (True, {"type": "RuntimeDefault"})
        assert [each["secret"]["defaultMode"] for each in pod["volumes"] if "secret" in each] == [0o440]
        for container in pod["containers"]:
            assert container["securityContext"] == {
                "allowPrivilegeEscalation": False,
                "readOnlyRootFilesystem": True,
                "capabilities": {"drop": ["ALL"]},
            }
            assert not any("secretKeyRef" in json.dumps(each) for each in container.get("env", []))


def test_probes_ask_the_own_container_and_end_no_worker_with_work(manifests: list[dict[str, Any]]) -> None:
    deployments = {each["metadata"]["name"]: each["spec"] for each in manifests if each["kind"] == "Deployment"}
    assert {*deployments} == {"builders-http", "builders-worker", "builders-mail"}
    for name, spec in deployments.items():
        pod = spec["template"]["spec"]
        for each in pod["containers"]:
            startup = each["startupProbe"]
            assert startup["periodSeconds"] * startup["failureThreshold"] == GRACE_S
            if name == "builders-http":
                asked = {kind: each[f"{kind}Probe"]["httpGet"]["path"] for kind in ("liveness", "readiness")}
                assert asked == {"liveness": "/livez", "readiness": "/readyz"}
                drain_s = next(int(one["value"]) for one in each["env"] if one["name"] == "BUILDERS_DRAIN_S")
                assert pod["terminationGracePeriodSeconds"] == GRACE_S + drain_s
            else:
                assert each["livenessProbe"]["exec"]["command"][-1] == "/opt/builders/alive.py"
                assert "readinessProbe" not in each


def test_only_http_and_metrics_are_reached(manifests: list[dict[str, Any]]) -> None:
    policies = [each["spec"] for each in manifests if each["kind"] == "NetworkPolicy"]
    assert {"podSelector": {}, "policyTypes": ["Ingress"]} in policies  # all that is not allowed below
    allowed = {port["port"] for each in policies for rule in each.get("ingress", []) for port in rule["ports"]}
    assert allowed == {8000, 9464}


def test_the_page_names_the_versions_that_are_checked() -> None:
    page = (ROOT / "docs" / "how-to" / "install-on-kubernetes.md").read_text(encoding="utf-8")
    check = (ROOT / "tests" / "deploy" / "check").read_text(encoding="utf-8")
    [(oldest, newest)] = re.findall(r"Kubernetes (1\.\d+) to (1\.\d+)", page)
    assert f"for version in {oldest} {newest};" in check
