"""Every operation refuses an invalid key, and a test key without the scope; test_matrix.py has the other callers.

tests/architecture/test_scopes.py checks that an operation without a scope is listed as public.
"""

import re
from uuid import uuid4

import httpx
import pytest

from builders.app import Service
from builders.identity import keys
from builders.identity.records import KeyKind, Preset
from builders.identity.scopes import PRESETS, expand
from builders.kit.callers import APPROVE
from tests.cast import Client, Person
from tests.conftest import MakePerson
from tests.contract.document import operations
from tests.contract.operations import PUBLIC
from tests.contract.pending import PENDING

FEWEST = 11  # operations with a scope, at least


@pytest.fixture
def scoped(service: Service) -> dict[str, str]:
    """Return the scope of each operation that has one."""
    found = {
        name: operation["x-scope"]
        for name, operation in operations(service.openapi()).items()
        if "x-scope" in operation
    }
    assert len(found) >= FEWEST
    assert len(found) + len(PUBLIC - PENDING) == len(operations(service.openapi()))
    return found


async def ask(client: Client, operation: str, key: str | None = None) -> httpx.Response:
    """Send an otherwise invalid request, because credentials are checked first."""
    method, path = operation.split(" ")
    headers = {} if key is None else {"X-API-Key": key}
    return await client.request(method, re.sub(r"\{\w+\}", "x", path), headers=headers, content=b"{")


def lacking(scope: str) -> list[Preset]:
    """Return the presets without the scope."""
    return [preset for preset in Preset if scope not in expand(PRESETS[preset])]


@pytest.mark.parametrize("bad", ["unknown", "mistyped", "malformed"])
async def test_an_invalid_key_is_refused(anyone: Client, scoped: dict[str, str], bad: str) -> None:
    unknown = keys.generate_secret(KeyKind.LIVE, uuid4()).text
    key = {"unknown": unknown, "mistyped": f"{unknown[:-1]}{'0' if unknown[-1] != '0' else '1'}"}.get(bad, bad)
    answers = {operation: await ask(anyone, operation, key) for operation in scoped}

    assert {name: (each.status_code, each.json()["code"]) for name, each in answers.items()} == dict.fromkeys(
        scoped, (401, "credentials_invalid")
    )


@pytest.mark.parametrize("kind", KeyKind)
async def test_a_missing_scope_is_named(people: MakePerson, scoped: dict[str, str], kind: KeyKind) -> None:
    holders: dict[Preset, Person] = {preset: await people(preset.value, preset) for preset in Preset}
    clients = {preset: each if kind is KeyKind.LIVE else each.test for preset, each in holders.items()}
    asked = 0

    for operation, scope in scoped.items():
        for preset in lacking(scope):
            answer = await ask(clients[preset], operation)
            asked += 1
            expected = "person_required" if scope == APPROVE else "insufficient_scope"
            assert (answer.status_code, answer.json()["code"]) == (403, expected), operation
            if scope != APPROVE:
                assert answer.json()["scope"] == scope, operation
                assert scope in answer.headers["WWW-Authenticate"], operation

    assert asked >= 2  # a domainer's key may neither plan nor promote


async def test_public_operations_ignore_credentials(anyone: Client, service: Service) -> None:
    public = operations(service.openapi()).keys() & PUBLIC
    assert public >= {"GET /livez", "GET /v1/catalog/check"}

    for operation in public:
        for key in (None, "x"):
            answer = await ask(anyone, operation, key)
            assert answer.status_code not in {401, 403}, (operation, key, answer.text)
