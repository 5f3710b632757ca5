"""Each snippet of docs/reference/operations reaches its operation, in the form that the operation expects."""

import json
import os
import shlex
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from http import HTTPStatus
from pathlib import Path
from typing import NamedTuple

import pytest
from typer.testing import CliRunner

from builders.identity.records import Preset
from builders.identity.scopes import CATALOG
from builders_client import Builders
from builders_client.cli.main import app
from builders_client.generated.sync.pages import Pages
from builders_client.problems import ApiError
from codegen.generate import document
from codegen.snippets import Call, Snippets, calls, write

DOMAINER = {str(each.scope) for each in CATALOG if Preset.DEVELOPER_FULL not in each.presets}
PLACE = "\n%{http_code}"
Found = Sequence[tuple[Call, Snippets]]


class Account(NamedTuple):
    """An account of its own in the demo, with a live key for domains and one for the rest."""

    address: str
    keys: Mapping[bool, str]

    def environment(self, call: Call, folder: Path) -> dict[str, str]:
        key = self.keys[call.operation.scope in DOMAINER]
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            "API": f"{self.address}/v1",
            "KEY": key,
            "BUILDERS_API_URL": self.address,
            "BUILDERS_API_KEY": key,
        }


@pytest.fixture(scope="module")
def found() -> Found:
    made = calls(document())
    return list(zip(made, write(made), strict=True))


@pytest.fixture(scope="module")
def account(demo: Mapping[str, str]) -> Account:
    run, email = shlex.split(demo["script/builders"]), "snippets@example.net"
    subprocess.run([*run, "accounts", "create", "--email", email], check=True, capture_output=True)
    made = {}
    for preset in Preset:
        words = ["keys", "create", "--account", email, "--kind", "live", "--preset", preset, "--json"]
        done = subprocess.run([*run, *words], check=True, capture_output=True, text=True)
        made[preset is Preset.DOMAINER_FULL] = json.loads(done.stdout)["secret"]
    return Account(demo["http://127.0.0.1:8000"], made)


def is_expected(code: str | None, places: Iterable[Sequence[str | int]] = ()) -> bool:
    """Return whether a refusal is about the values of the example, and not about the form of the request."""
    forms = {None, "not_found", "method_not_allowed", "unsupported_media_type", "unknown_parameter"}
    return code not in forms and not any(place[0] == "body" for place in places)


def test_curl_reaches_each_operation(found: Found, account: Account, tmp_path: Path) -> None:
    wrong = {}
    for call, snippets in found:
        line = snippets.curl.replace("curl ", f"curl -s -w '{PLACE}' ", 1)
        environment = account.environment(call, tmp_path)
        done = subprocess.run(["sh", "-c", line], env=environment, capture_output=True, check=True)
        body, _, status = done.stdout.rpartition(b"\n")
        problem = json.loads(body) if int(status) >= HTTPStatus.BAD_REQUEST else {"code": ""}
        detail = problem.get("detail")
        places = [each["loc"] for each in detail] if isinstance(detail, list) else ()
        if not is_expected(problem["code"], places):
            wrong[call.operation.id] = problem

    assert wrong == {}


def test_python_reaches_each_operation(found: Found, account: Account) -> None:
    wrong = {}
    with ExitStack() as stack:
        clients = {
            for_domains: stack.enter_context(Builders(key, base_url=account.address))
            for for_domains, key in account.keys.items()
        }
        for call, snippets in found:
            client = clients[call.operation.scope in DOMAINER]
            try:
                reply = eval(snippets.python, {"client": client})  # noqa: S307 - what readers type
                if isinstance(reply, Pages):
                    reply.first()
            except ApiError as error:
                if not is_expected(error.code, [each.location for each in error.errors]):
                    wrong[call.operation.id] = str(error)

    assert wrong == {}


def test_bld_reaches_each_operation(found: Found, account: Account, tmp_path: Path) -> None:
    wrong = {}
    for call, snippets in found:
        words = shlex.split(snippets.bld.replace("\\\n", ""))
        done = CliRunner().invoke(app, ["--json", *words[1:]], env=account.environment(call, tmp_path))
        problem = json.loads(done.stderr)["error"] if done.exit_code else {"code": ""}
        if not is_expected(problem["code"]) or "body." in problem.get("message", ""):
            wrong[call.operation.id] = problem

    assert wrong == {}
