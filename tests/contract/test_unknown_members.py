"""An unknown member is refused where it would limit, cost or grant; elsewhere it is a warning."""

import json
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import httpx
import pytest

from tests.cast import Person
from tests.contract.document import body_schemas, resolve
from tests.contract.operations import OPERATIONS as SPECIFIED
from tests.contract.shape import Body
from tests.contract.test_unsupported_members import OPERATIONS, WRITING
from tests.published import published

DOCUMENT = published().document
Send = Callable[[str, Any], Awaitable[httpx.Response]]
DOMAINS, KEYS = "/v1/portfolio/domains", "/v1/api-keys"
FINANCE, RENEWALS = f"{DOMAINS}/{{id}}/finance", f"{DOMAINS}/{{id}}/finance/renewals"
KEY = {"label": "x", "key_kind": "test", "preset": "developer_full"}
HOOK = {"label": "x", "url": "https://example.com/", "enabled": True, "events": ["alias.created"]}
SALE, PART = {"gross": "900", "sold_on": "2026-01-02"}, {"amount": "100", "on": "2026-02-01"}
ENTRY = {"kind": "tax", "amount": "1"}
BOUGHT = {"amount": "100.00"}
CONNECTION = {"credentials": {"api_key": "x", "secret_api_key": "y"}, "verify": False}

# The operation, the body, the place of the member, and the known one that is suggested.
REFUSED: list[tuple[str, Any, list[str | int], str | None]] = [
    # Inside of a sale, an acquisition, an entry and the lists of a sale: every unknown member.
    (
        f"PATCH {FINANCE}",
        {"sale": {**SALE, "comission_rate": "0.15"}},
        ["sale", "comission_rate"],
        "commission_rate",
    ),
    (f"PATCH {FINANCE}", {"sale": {**SALE, "zzzz": 1}}, ["sale", "zzzz"], None),
    (
        f"PATCH {FINANCE}",
        {"sale": {**SALE, "fees": [{"amount": "1", "zzzz": 1}]}},
        ["sale", "fees", 0, "zzzz"],
        None,
    ),
    (
        f"PATCH {FINANCE}",
        {"sale": {**SALE, "installments": [{**PART, "recieved_on": "2026-02-01"}]}},
        ["sale", "installments", 0, "recieved_on"],
        "received_on",
    ),
    (f"PATCH {FINANCE}", {"acquisition": {**BOUGHT, "date": "2024-01-01"}}, ["acquisition", "date"], None),
    (
        f"PATCH {FINANCE}",
        {"entries_add": [ENTRY, {**ENTRY, "ocurred_on": 1}]},
        ["entries_add", 1, "ocurred_on"],
        "occurred_on",
    ),
    (
        f"PATCH {RENEWALS.removesuffix('/renewals')}",
        {"notes": "x", "aquisition": BOUGHT},
        ["aquisition"],
        "acquisition",
    ),
    # At the top of an open body: what resembles a known member.
    (f"POST {RENEWALS}", {"amount": "9", "new_expire_at": "2030-01-01"}, ["new_expire_at"], "new_expires_at"),
    (
        "PATCH /v1/portfolio/renewals/bulk",
        {"domains": ["a.com"], "set": {"note": "x", "decison": "drop"}},
        ["set", "decison"],
        "decision",
    ),
    (
        "PATCH /v1/portfolio/renewals/bulk",
        {"domains": ["a.com"], "set": {"note": "x"}, "dryRun": True},
        ["dryRun"],
        "dry_run",
    ),
    (
        "POST /v1/portfolio/parking/revenue",
        {"domain": "a.com", "amount": "1", "curency": "EUR"},
        ["curency"],
        "currency",
    ),
    ("POST /v1/portfolio/registrars/billing/sync", {"provider": ["porkbun"]}, ["provider"], "providers"),
    ("POST /v1/portfolio/registrars/billing/ensure", {"forced": True}, ["forced"], "force"),
    (
        "PUT /v1/portfolio/registrars/porkbun",
        {**CONNECTION, "require_vaild": True},
        ["require_vaild"],
        "require_valid",
    ),
    ("PUT /v1/portfolio/registrars/manual:quay", {"enable": False}, ["enable"], "enabled"),
    ("POST /v1/portfolio/team/invites", {"email": "c@example.com", "rol": "viewer"}, ["rol"], "role"),
    ("POST /v1/portfolio/import", {"domains": ["a.com"], "on_conflct": "skip"}, ["on_conflct"], "on_conflict"),
    (
        "POST /v1/portfolio/domains",
        {"domain": "b.com", "purchase": {**BOUGHT, "zzzz": 1}},
        ["purchase", "zzzz"],
        None,
    ),
    # Bodies with a named type: every unknown member.
    (f"POST {KEYS}", {**KEY, "expire_at": "2030-01-01T00:00:00Z"}, ["expire_at"], "expires_at"),
    (f"POST {KEYS}", {**KEY, "allow_ips": ["192.0.2.0/24"]}, ["allow_ips"], "allowed_ips"),
    (f"POST {KEYS}", {**KEY, "allowedIPs": ["192.0.2.0/24"]}, ["allowedIPs"], "allowed_ips"),
    (f"POST {KEYS}", {**KEY, "zzzz": 1}, ["zzzz"], None),
    ("POST /v1/notifications/webhooks", {**HOOK, "zzzz": 1}, ["zzzz"], None),
    ("POST /v1/sandbox/plan", {"zzzz": 1}, ["zzzz"], None),
    ("POST /v1/sandbox/promote", {"zzzz": 1}, ["zzzz"], None),
]
# At the top of an open body: what resembles no known member.
WARNED: list[tuple[str, Any, str]] = [
    (f"PATCH {FINANCE}", {"notes": "x", "zzzz": 1}, "zzzz"),
    (f"POST {RENEWALS}", {"amount": "9", "zzzz": 1}, "zzzz"),
    ("PUT /v1/portfolio/registrars/porkbun", {**CONNECTION, "zzzz": 1}, "zzzz"),
    ("PUT /v1/portfolio/registrars/manual:quay", {"zzzz": 1}, "zzzz"),
    ("POST /v1/portfolio/team/invites", {"email": "c@example.com", "role": "viewer", "zzzz": 1}, "zzzz"),
    ("POST /v1/portfolio/domains", {"domain": "b.com", "registar": "Porkbun"}, "registar"),
    ("POST /v1/builders/projects", {"name": "x", "descripton": "y"}, "descripton"),
    ("PATCH /v1/me", {"display_name": "x", "zzzz": "y"}, "zzzz"),
]
ONE_MEMBER: list[tuple[str, Any, list[str | int]]] = [
    (f"PATCH {FINANCE}", {"sale": {**SALE, "installments": [], "instalments": []}}, ["sale", "instalments"]),
    (
        f"PATCH {FINANCE}",
        {"acquisition": {**BOUGHT, "on": "2024-01-01", "acquired_on": "2024-01-01"}},
        ["acquisition", "acquired_on"],
    ),
    (
        f"POST {DOMAINS}",
        {"domain": "b.com", "purchase": {**BOUGHT, "on": "2024-01-01", "acquired_on": "2024-01-01"}},
        ["purchase", "acquired_on"],
    ),
    (f"POST {DOMAINS}", {"domain": "b.com", "name": "c.com"}, ["name"]),
]


@pytest.fixture
async def domain_id(dana: Person) -> str:
    found: str = (await dana.post(DOMAINS, json={"domain": "a.com", "currency": "USD"})).json()["id"]
    return found


@pytest.fixture
def send(alice: Person, dana: Person, domain_id: str) -> Send:
    async def request(operation: str, body: Any) -> httpx.Response:
        method, path = operation.split()
        person = dana if path.startswith("/v1/portfolio/") else alice
        return await person.request(method, path.replace("{id}", domain_id), json=body)

    return request


async def test_a_member_that_would_limit_cost_or_grant_is_refused(send: Send) -> None:
    wrong = []
    for operation, body, place, meant in REFUSED:
        answer = await send(operation, body)
        errors = answer.json()["detail"] if answer.status_code == 422 else []
        found = [(each["type"], each.get("did_you_mean")) for each in errors if each["loc"] == ["body", *place]]
        if found != [("unknown_field", meant)]:
            wrong.append((operation, place, answer.status_code, answer.text))
    assert wrong == []


async def test_what_is_refused_has_no_effect(send: Send, alice: Person, dana: Person, domain_id: str) -> None:
    path = FINANCE.replace("{id}", domain_id)
    before, keys = (await dana.get(path)).json(), (await alice.get(KEYS)).json()
    for operation, body, _, _ in REFUSED:
        await send(operation, body)

    assert (await dana.get(path)).json() == before
    assert [each["domain"] for each in (await dana.get(DOMAINS)).json()["items"]] == ["a.com"]
    assert (await alice.get(KEYS)).json() == keys


async def test_a_policy_with_an_unknown_member_is_refused(alice: Person) -> None:
    async with alice.browser() as browser:
        answer = await browser.put("/v1/sandbox/approval-policy", json={"mode": "all", "max_totl": "5"})
    [error] = [each for each in answer.json()["detail"] if each["loc"] == ["body", "max_totl"]]
    assert error["type"] == "unknown_field"


@pytest.mark.parametrize(
    "member",
    ["max_total", "maxTotal", "Max-Total", "mandate", "scopes", "scope", "allowed_ips", "allowedIPs", "DryRun"],
)
async def test_a_listed_member_is_refused_in_any_spelling(send: Send, member: str) -> None:
    bodies = {
        f"PATCH {FINANCE}": {"notes": "x"},
        f"POST {DOMAINS}": {"domain": "b.com"},
        "POST /v1/builders/projects": {"name": "x"},
    }
    for operation, body in bodies.items():
        answer = await send(operation, {**body, member: 1})
        assert (answer.status_code, answer.json()["code"]) == (422, "member_unsupported"), (operation, answer.text)
        assert answer.json()["detail"][0]["loc"] == ["body", member]


async def test_another_unknown_member_of_an_open_body_is_a_warning(send: Send) -> None:
    wrong = []
    for operation, body, member in WARNED:
        answer = await send(operation, body)
        warned = [each["field"] for each in answer.json().get("warnings", ()) if each["code"] == "unknown_field"]
        if not (answer.is_success and warned == [member]):
            wrong.append((operation, answer.status_code, answer.text))
    assert wrong == []


async def test_a_price_of_a_domain_suggests_both_prices(dana: Person) -> None:
    [warning] = (await dana.post(DOMAINS, json={"domain": "b.com", "price": "10"})).json()["warnings"]
    assert warning["field"] == "price"
    assert warning["did_you_mean"] in {"renewal_price", "asking_price"}
    assert "'renewal_price'" in warning["message"]
    assert "'asking_price'" in warning["message"]


async def test_both_names_of_one_member_are_refused(send: Send) -> None:
    for operation, body, place in ONE_MEMBER:
        answer = await send(operation, body)
        found = [(each["loc"], each["type"]) for each in answer.json()["detail"]]
        assert (answer.status_code, found) == (422, [(["body", *place], "member_repeated")]), operation


async def test_instalments_are_read_by_either_name(dana: Person, domain_id: str) -> None:
    path = FINANCE.replace("{id}", domain_id)
    terms = {**SALE, "gross": {"amount": "900", "currency": "USD"}}
    for name in ("installments", "instalments"):
        sold = (await dana.patch(path, json={"sale": {**terms, name: [{**PART, "amount": "800"}]}})).json()
        assert len(sold["sale"]["installments"]) == 1
        assert (sold["sale"]["gross"]["amount"], sold["sale"]["outstanding"]["amount"]) == ("100.00", "800.00")


async def test_the_day_of_an_acquisition_is_read_by_either_name(dana: Person, domain_id: str) -> None:
    for name, day in (("on", "2024-01-01"), ("acquired_on", "2024-02-02")):
        body = {"acquisition": {"amount": "100", "currency": "USD", name: day}}
        found = (await dana.patch(FINANCE.replace("{id}", domain_id), json=body)).json()
        assert [each["occurred_on"] for each in found["entries"] if each["voided_at"] is None] == [day]


async def test_no_operation_takes_a_member_twice(alice: Person, dana: Person) -> None:
    wrong = {}
    for name in WRITING:
        if not list(body_schemas(OPERATIONS[name])):
            continue
        scope = OPERATIONS[name].get("x-scope", "").partition(":")[0]
        client = dana if scope in {"portfolio", "registrars", "transfers", "team"} else alice
        async with alice.browser() as browser:
            method, path = name.split()
            answer = await (browser if scope in {"plans", "mail"} else client).request(
                method,
                path.replace("{", "").replace("}", ""),
                content=b'{"list": [{"name": 1, "other": {"a": 1, "\\u0061": 2}}]}',
                headers={"Content-Type": "application/json", "Sec-Fetch-Site": "same-origin"},
            )
        found = (
            [(each["loc"], each["type"]) for each in answer.json()["detail"]] if answer.status_code == 422 else []
        )
        if found != [(["body", "list", 0, "other", "a"], "member_repeated")]:
            wrong[name] = (answer.status_code, answer.text[:300])
    assert wrong == {}


def closed(schema: Any, seen: set[str]) -> Iterator[str]:
    """Yield the parts of a schema that name all their members."""
    if isinstance(schema, list):
        for each in schema:
            yield from closed(each, seen)
    if not isinstance(schema, dict):
        return
    name = schema.get("$ref")
    if name is not None and name not in seen:
        seen.add(name)
        yield from closed(resolve(DOCUMENT, schema), seen)
    if schema.get("additionalProperties") is False:
        yield json.dumps(schema)[:80]
    for each in schema.values():
        yield from closed(each, seen)


def test_what_the_specification_leaves_open_is_open_at_every_level() -> None:
    found = {
        row.name: parts
        for row in SPECIFIED
        if row.schema is None and row.body is not Body.ABSENT
        for schema in body_schemas(OPERATIONS[row.name])
        if (parts := list(closed(schema, set())))
    }
    assert found == {}


@pytest.mark.parametrize(
    ("schema", "rule"),
    [
        ("FinanceUpdate", "that resemble known ones are refused"),
        ("SaleUpdate", "Unknown members are refused."),
        ("EntryCreate", "Unknown members are refused."),
        ("TeamInviteCreate", "that resemble known ones are refused"),
        ("WebhookUpdate", "Unknown members are refused."),
    ],
)
def test_the_document_says_the_rule(schema: str, rule: str) -> None:
    described = [each for name, each in DOCUMENT["components"]["schemas"].items() if name.endswith(schema)]
    assert described
    assert all(rule in each["description"] for each in described)
    assert "unknown" in DOCUMENT["info"]["description"]
