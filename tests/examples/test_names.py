"""The script and the workflow of the manifest in git run against a real service."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from builders.kit.values import ids
from tests.docs import walks

EXAMPLE = Path(__file__).parents[2] / "examples" / "manifest-in-git"
WORKFLOW = EXAMPLE / ".github" / "workflows" / "names.yml"
MAX_COMMENT = 65_536  # characters, on GitHub
API, LIVE, TEST = "http://127.0.0.1:8000", "svc_live_…", "svc_test_…"

Json = dict[str, Any]
tools = pytest.mark.skipif(not shutil.which("bash"), reason="the commands need bash")


class Repository:
    """A checkout of the example, and a service with its keys."""

    def __init__(self, folder: Path, places: Mapping[str, str]) -> None:
        self.folder, self.places = folder, places
        shutil.copytree(EXAMPLE, folder, dirs_exist_ok=True)
        self.label = f"r{ids.new().hex[-10:]}"

    def write(self, *keys: str, **members: Any) -> None:
        """Write a manifest with names that only this test uses."""
        aliases = [
            {"key": key, "address": f"{key}-{self.label}@pixel.example", "destinations": ["ops@example.net"]}
            for key in keys
        ]
        manifest = {
            "api_version": "v1",
            "kind": "Manifest",
            "metadata": {"name": self.label},
            "prune": True,
            "resources": {"aliases": aliases},
            **members,
        }
        (self.folder / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")

    def env(self, key: str, **more: str) -> dict[str, str]:
        """Return the environment of a job."""
        return {
            **{name: value for name, value in os.environ.items() if not name.startswith(("BUILDERS_", "GITHUB_"))},
            "BUILDERS_URL": self.places[API],
            "BUILDERS_KEY": self.places[key],
            **more,
        }

    def run(self, *words: str, key: str = LIVE) -> "subprocess.CompletedProcess[str]":
        """Run the script with these arguments."""
        return self._done([sys.executable, "names.py", *words], self.env(key))

    def plan(self) -> "subprocess.CompletedProcess[str]":
        """Plan with the test key, and save the plan."""
        return self.run("plan", "manifest.json", "--save", "plan.json", key=TEST)

    def promote(self, *words: str) -> "subprocess.CompletedProcess[str]":
        """Promote the saved plan."""
        return self.run("promote", "plan.json", *words)

    def step(self, job: str, name: str, key: str = LIVE, **more: str) -> "subprocess.CompletedProcess[str]":
        """Run a step of the workflow as the runner starts it."""
        yaml = pytest.importorskip("yaml")
        steps = yaml.safe_load(WORKFLOW.read_text(encoding="utf-8"))["jobs"][job]["steps"]
        (script,) = [each["run"] for each in steps if each.get("name") == name]
        return self._done(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script], self.env(key, **more)
        )

    def _done(self, words: Sequence[str], env: Mapping[str, str]) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            words, cwd=self.folder, env=env, capture_output=True, text=True, check=False, timeout=120
        )


@pytest.fixture
def repository(demo: Mapping[str, str], tmp_path: Path) -> Repository:
    """Return a new checkout."""
    return Repository(tmp_path, demo)


def test_a_plan_is_printed_as_text_and_promoted(repository: Repository) -> None:
    repository.write("sales", "jobs")
    planned = repository.plan()
    assert (planned.returncode, planned.stderr) == (0, "")
    assert f"sales-{repository.label}@pixel.example" in planned.stdout
    assert not planned.stdout.startswith("{")

    promoted = repository.promote("--manifest", "manifest.json", "--max-total", "1000.00 USD")
    assert (promoted.returncode, promoted.stderr) == (0, "")
    assert promoted.stdout.count("succeeded create") == 2
    assert repository.promote().stdout == promoted.stdout  # requests are idempotent

    assert repository.plan().returncode == 0
    assert repository.promote().stdout == "Nothing to do.\n"


def test_deletions_are_limited(repository: Repository) -> None:
    repository.write("sales", "jobs")
    repository.plan()
    repository.promote()
    repository.write("jobs")
    repository.plan()

    refused = repository.promote()
    assert (refused.returncode, refused.stderr) == (1, "The plan deletes 1, and up to 0 may be.\n")
    wrong = repository.promote("--confirm-deletes", "2")
    assert (wrong.returncode, wrong.stderr.split(":")[0]) == (1, "409 confirm_deletes_mismatch")
    assert repository.promote("--most-deletes", "1").returncode == 0


def test_the_total_is_limited(repository: Repository) -> None:
    repository.write("sales")
    repository.plan()
    refused = repository.promote("--max-total", "0.01 USD")
    assert (refused.returncode, refused.stderr.split(":")[0]) == (1, "409 total_exceeded")


def test_a_blocked_plan_prints_its_errors(repository: Repository) -> None:
    repository.write("sales")
    text = (repository.folder / "manifest.json").read_text(encoding="utf-8")
    text = text.replace(f"sales-{repository.label}", "postmaster")
    (repository.folder / "manifest.json").write_text(text, encoding="utf-8")

    planned = repository.plan()
    assert (planned.returncode, planned.stderr) == (1, "The plan is blocked.\n")
    assert "reserved" in planned.stdout
    assert repository.promote().stderr.startswith("409 plan_blocked")


def test_an_invalid_manifest_prints_its_members(repository: Repository) -> None:
    repository.write("sales", pruen=True)
    planned = repository.plan()
    assert (planned.returncode, planned.stdout) == (1, "")
    assert planned.stderr == "The manifest is not valid:\n  pruen: Unknown field. Did you mean 'prune'?\n"


def test_a_changed_manifest_is_not_promoted(repository: Repository) -> None:
    repository.write("sales")
    repository.plan()
    repository.write("sales", "jobs")
    refused = repository.promote("--manifest", "manifest.json")
    assert refused.returncode == 1
    assert refused.stderr.startswith("manifest.json is not what was planned.")


def test_a_stale_plan_prints_the_changes(repository: Repository) -> None:
    repository.write("sales")
    repository.plan()
    shutil.copy(repository.folder / "plan.json", repository.folder / "slow.json")
    repository.write("sales", metadata={"name": f"{repository.label}-fast"})
    repository.plan()
    assert repository.promote().returncode == 0

    refused = repository.run("promote", "slow.json")
    assert refused.returncode == 1
    assert refused.stderr.startswith("409 plan_stale")
    assert "alias.sales" in refused.stderr


def test_promoting_requires_a_live_key_and_the_digest(repository: Repository) -> None:
    repository.write("sales")
    repository.plan()
    made = json.loads((repository.folder / "plan.json").read_text(encoding="utf-8"))
    assert repository.run("promote", "plan.json", key=TEST).stderr.startswith("403 live_key_required")

    named = ("promote", "--plan-id", made["id"], "--confirm-deletes", "0", "--digest")
    assert repository.run(*named, made["digest"][:-1] + "x").stderr.startswith("409 plan_digest_mismatch")
    assert repository.run(*named, made["digest"]).returncode == 0
    assert repository.run("promote").stderr.startswith("Name the file of a plan")


@tools
def test_the_commands_of_the_readme_print_its_output(demo: Mapping[str, str], repository: Repository) -> None:
    steps = walks.read((EXAMPLE / "README.md").read_text(encoding="utf-8"))
    printed = walks.walk(steps, places=demo, folder=repository.folder)
    for step, text in zip(steps, printed, strict=True):
        shown = re.escape((step.answer or "").strip()).replace("…", ".*")
        assert re.fullmatch(shown, text.strip(), re.DOTALL), f"{step.lines}says\n{text}\nnot\n{step.answer}"


@tools
def test_the_workflow_comments_a_plan_and_promotes_it_after_the_merge(repository: Repository) -> None:
    repository.write("sales", "jobs")
    planned = repository.step("plan", "Plan", TEST, GITHUB_STEP_SUMMARY="summary.md")
    assert planned.returncode == 0, planned.stderr
    comment = (repository.folder / "comment.md").read_text(encoding="utf-8")
    assert comment == (repository.folder / "summary.md").read_text(encoding="utf-8")
    assert comment.startswith("```diff\n")
    assert f"sales-{repository.label}@pixel.example" in comment
    assert comment.count("\n+ create alias.") == 2

    kept = repository.folder / "kept"
    kept.mkdir()
    (repository.folder / "plan.json").rename(kept / "plan.json")
    # A workflow that is changed on a branch can put files into the artifact that nobody reviewed.
    (kept / "names.py").write_text("raise SystemExit('with the live key')", encoding="utf-8")
    gh(repository, found="4711")
    path = f"{repository.folder}:{os.environ['PATH']}"
    github = {"PATH": path, "GITHUB_REPOSITORY": "acme/names", "GITHUB_SHA": "abc"}
    assert repository.step("promote", "Find the plan that was reviewed", **github).returncode == 0

    bounds = {"MOST_DELETES": "0", "MAX_TOTAL": "1000.00 USD"}
    promoted = repository.step("promote", "Promote what was reviewed", **bounds)
    assert promoted.returncode == 0, promoted.stderr
    made = json.loads((kept / "plan.json").read_text(encoding="utf-8"))
    inputs = {
        "PLAN_ID": made["id"],
        "DIGEST": made["digest"],
        "CONFIRM_DELETES": "0",
        "MAX_TOTAL": "",
        "RESUME": "",
    }
    by_hand = repository.step("promote", "Promote by hand", **inputs)
    assert (by_hand.returncode, by_hand.stdout) == (0, promoted.stdout)


@tools
def test_a_long_plan_is_shortened_in_the_comment(repository: Repository) -> None:
    repository.write(*(f"name{at}" for at in range(400)))
    planned = repository.step("plan", "Plan", TEST, GITHUB_STEP_SUMMARY="summary.md")
    comment = (repository.folder / "comment.md").read_text(encoding="utf-8")
    assert len(planned.stdout) > MAX_COMMENT > len(comment)
    assert comment.startswith("**This is the beginning of a long plan.")
    assert "\nSummary: 400 create\n" in comment
    assert comment.endswith("\n```\n")


@tools
def test_the_workflow_fails_with_the_plan_and_promotes_only_reviewed_plans(repository: Repository) -> None:
    repository.write("sales", pruen=True)
    planned = repository.step("plan", "Plan", TEST, GITHUB_STEP_SUMMARY="summary.md")
    assert planned.returncode == 1
    assert "Did you mean 'prune'?" in (repository.folder / "comment.md").read_text(encoding="utf-8")

    gh(repository, found="")
    path = f"{repository.folder}:{os.environ['PATH']}"
    github = {"PATH": path, "GITHUB_REPOSITORY": "acme/names", "GITHUB_SHA": "abc"}
    found = repository.step("promote", "Find the plan that was reviewed", **github)
    assert (found.returncode, found.stderr) == (1, "Nobody reviewed this push: plan it in a pull request.\n")


def gh(repository: Repository, *, found: str) -> None:
    """Write a stand-in for GitHub's command line with the commands of the workflow."""
    program = repository.folder / "gh"
    program.write_text(
        '#!/bin/sh\ncase "$*" in\n'
        '*download*--dir\\ *) mkdir -p "${*##*--dir }"; cp kept/* "${*##*--dir }" ;;\n'
        f"*download*) cp kept/* . ;;\n*) printf '%s' '{found}' ;;\nesac\n",
        encoding="utf-8",
    )
    program.chmod(0o755)


def test_the_manifest_of_the_example_is_valid(repository: Repository) -> None:
    shutil.copy(EXAMPLE / "manifest.json", repository.folder)
    planned = repository.plan()
    assert (planned.returncode, planned.stderr) == (0, "")


def test_the_workflow_separates_environments_and_untrusted_text() -> None:
    yaml = pytest.importorskip("yaml")
    workflow = yaml.safe_load(WORKFLOW.read_text(encoding="utf-8"))
    jobs = workflow["jobs"]
    assert {each["environment"] for each in jobs.values()} == {"plan", "promote"}
    assert workflow["permissions"] == {"contents": "read"}
    scripts = [step["run"] for job in jobs.values() for step in job["steps"] if "run" in step]
    assert scripts
    # Text of strangers, such as the name of a branch, never becomes part of a script.
    assert not [each for each in scripts if "${{" in each]
