"""A support session: each operation that changes something says what support may do there, or refuses it."""

from typing import Any

import pytest
from fastapi.routing import APIRoute
from pydantic import BaseModel

from builders.app import ROUTERS
from builders.identity.scopes import OWNER_ONLY
from builders.kit.callers import APPROVE
from builders.kit.http.routes import Route
from tests.cast import Client, Person

SAFE = {"GET", "HEAD"}
MANIFEST = {"api_version": "v1", "kind": "Manifest", "metadata": {"name": "x"}, "resources": {"aliases": []}}
# All that support may do, with the members of the body that it may set. What decides where mail, events or
# credentials go is never among them; whoever adds a line here answers for that.
ALLOWED: dict[str, set[str]] = {
    "POST /v1/auth/logout": set(),
    "DELETE /v1/auth/sessions/{session_id}": set(),
    "PATCH /v1/me": {
        *("display_name", "company", "website", "country", "timezone", "locale", "marketing_opt_in"),
    },
    "POST /v1/account/email-verification/resend": set(),
    "POST /v1/builders/projects": {
        *("name", "slug", "description", "website", "allowed_domains", "alias_limit", "metadata"),
    },
    "PATCH /v1/builders/projects/{project_id}": {
        *("name", "slug", "description", "website", "allowed_domains", "alias_limit", "metadata", "archived"),
        "version",
    },
    "DELETE /v1/builders/projects/{project_id}": set(),
    "POST /v1/aliases/destinations/resend": {"email"},
    "PATCH /v1/aliases/{alias_id}": {"enabled", "note", "labels", "block", "pause_until"},
    "POST /v1/domains": {"domain"},
    "POST /v1/domains/{id}/verify": set(),
    "POST /v1/portfolio/webhooks/{webhook_id}/test": set(),
    "POST /v1/portfolio/notifications/test": {"event"},
}


def writing() -> dict[str, Route]:
    """Every operation with credentials that changes something; a form of the console calls one of them."""
    routes = [each for router in ROUTERS for each in router.routes if isinstance(each, Route)]
    return {
        f"{method} {route.path}": route
        for route in routes
        if route.needs is not None and route.include_in_schema
        for method in (route.methods or set()) - SAFE
    }


def members(route: APIRoute) -> set[str]:
    """What a body of the operation may have."""
    model: Any = None if route.body_field is None else route.body_field.field_info.annotation
    return set(model.model_fields) if isinstance(model, type) and issubclass(model, BaseModel) else set()


def test_what_support_may_do_is_listed() -> None:
    found = {
        name: set(route.needs.support) & members(route)
        for name, route in writing().items()
        if route.needs is not None and route.needs.support is not None and route.needs.scope not in OWNER_ONLY
    }

    assert found == ALLOWED


async def test_every_other_operation_and_member_is_refused(alice: Person) -> None:
    new = await alice.admit_support(may_write=True)
    let_through = []
    async with Client(alice.service, token=new.token) as support:
        for name, route in writing().items():
            method, path = name.split()
            asked = dict.fromkeys(members(route) - ALLOWED.get(name, set()))
            if name in ALLOWED and not asked:
                continue
            answer = await support.request(method, path.replace("{", "").replace("}", ""), json=asked or None)
            code = "person_required" if route.needs and route.needs.scope == APPROVE else "impersonation_forbidden"
            refused = answer.status_code == 403 and answer.json()["code"] == code
            if not refused and not (name in ALLOWED and answer.status_code == 422):
                let_through.append((name, answer.status_code, answer.text))

    assert let_through == []


@pytest.mark.parametrize(
    ("name", "body"),
    [
        pytest.param(
            "POST /v1/builders/projects",
            {"name": "x", "default_destination": "eve@example.net"},
            id="a new project with a destination",
        ),
        pytest.param(
            "POST /v1/builders/projects", {"name": "x", "webhook_ids": []}, id="a new project with webhooks"
        ),
        pytest.param(
            "PATCH /v1/builders/projects/x",
            {"default_destination": "eve@example.net"},
            id="the destination of a project",
        ),
        pytest.param(
            "PATCH /v1/builders/projects/x", {"default_destination": None}, id="no destination of a project"
        ),
        pytest.param(
            "PATCH /v1/builders/projects/x", {"name": "x", "webhook_ids": []}, id="webhooks of a project"
        ),
        pytest.param(
            "PATCH /v1/aliases/x",
            {"note": "x", "destinations": ["eve@example.net"]},
            id="destinations of an alias",
        ),
        pytest.param(
            "POST /v1/domains",
            {"domain": "eve.example", "catch_all": True, "default_destination": "eve@example.net"},
            id="a new domain with a destination",
        ),
        pytest.param("PATCH /v1/domains/x", {"catch_all": False}, id="the catch-all of a domain"),
        pytest.param("PATCH /v1/me", {"email": "eve@example.net"}, id="the email of the account"),
        pytest.param(
            "POST /v1/sandbox/simulate",
            {"type": "manifest", "persist": True, "manifest": MANIFEST},
            id="a persistent rehearsal",
        ),
        pytest.param("POST /v1/sandbox/plan", MANIFEST, id="a plan"),
        pytest.param(
            "POST /v1/api-keys", {"label": "x", "key_kind": "test", "preset": "developer_full"}, id="a key"
        ),
    ],
)
async def test_support_redirects_nothing(alice: Person, name: str, body: dict[str, Any]) -> None:
    method, path = name.split()
    new = await alice.admit_support(may_write=True)
    async with Client(alice.service, token=new.token) as support:
        answer = await support.request(method, path, json=body)

    assert (answer.status_code, answer.json()["code"]) == (403, "impersonation_forbidden")
