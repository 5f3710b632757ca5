"""Each credential with a mandate and every operation: what its mandate, its scopes and the effect allow."""

from typing import Any

import pytest

from builders.app import Service
from builders.identity.records import Preset
from builders.identity.scopes import PRESETS, expand
from builders.kit.callers import APPROVE
from builders.kit.effects import Effect
from builders.kit.mandates import TOOLSETS, Toolset
from tests.access.test_scopes import ask
from tests.cast import Person
from tests.contract.document import Json, operations
from tests.mandates import machine, reason

# They check their own targets: the tests of their packages have these cases.
CHECKING = {
    "aliases_change",
    "aliases_release",
    "domains_change",
    "projects_archive",
    "projects_update",
    "sandbox_promote",
    "webhooks_change",
    "webhooks_create",
}
PROJECT = "0193a1b2-0000-7000-8000-000000000009"
MANDATES: dict[str, dict[str, Any]] = {
    "all": {},
    "read-only": {"read_only": True},
    "without deletions": {"deletes_per_plan": 0},
    "without outward": {"outward": False},
    "of a project": {"projects": [PROJECT]},
    **{f"only {toolset}": {"toolsets": [toolset]} for toolset in Toolset},
}


def scoped(service: Service) -> dict[str, Json]:
    """Return the operations that need a scope."""
    found = {name: each for name, each in operations(service.openapi()).items() if "x-scope" in each}
    assert len(found) > 100
    return found


def expected(operation: Json, mandate: dict[str, Any], preset: Preset) -> str | None:
    """Return the reason of the refusal, by the rules; None for an operation that is allowed."""
    scope, effect = operation["x-scope"], Effect(operation["x-effect"])
    changes = effect not in {Effect.READ, Effect.PROPOSE}
    is_checked = changes and operation["operationId"] not in CHECKING
    reasons = {
        "api_key": scope == APPROVE,
        "insufficient_scope": scope not in expand(PRESETS[preset]),
        "authority": effect is Effect.AUTHORITY,
        "toolset": operation.get("x-toolset") not in mandate.get("toolsets", list(Toolset)),
        "read_only": changes and mandate.get("read_only", False),
        "deletes": effect is Effect.DELETE and mandate.get("deletes_per_plan") == 0,
        "projects": is_checked and "projects" in mandate,
        "outward": is_checked and effect is Effect.OUTWARD and mandate.get("outward") is False,
    }
    return next((each for each, is_met in reasons.items() if is_met), None)


def test_each_operation_with_a_scope_has_a_toolset_or_belongs_to_people(service: Service) -> None:
    without = {name for name, each in scoped(service).items() if "x-toolset" not in each}
    assert {scoped(service)[name]["x-scope"] for name in without} == {APPROVE}
    assert {each.partition(":")[0] for preset in Preset for each in PRESETS[preset]} <= TOOLSETS.keys()


@pytest.mark.parametrize("preset", Preset)
@pytest.mark.parametrize("name", MANDATES)
async def test_a_mandate_allows_by_toolset_and_effect(
    service: Service, alice: Person, name: str, preset: Preset
) -> None:
    agent = await machine(alice, preset=preset, **MANDATES[name])
    wanted = {path: expected(each, MANDATES[name], preset) for path, each in scoped(service).items()}
    found: dict[str, str | None] = {}
    for path in wanted:
        status, code, why = reason(answer := await ask(agent, path))
        found[path] = (why or code) if status == 403 else None
        assert status != 401, answer.text
    assert found == wanted
