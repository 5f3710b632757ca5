"""Every 404 and 405 has a next action: each operation, with an unknown id."""

import re
from typing import Any

import pytest

from builders import app, worker
from builders.kit import errors
from builders.kit.callers import APPROVE
from builders.kit.errors import Problem
from builders.kit.values import ids
from tests.cast import Client, Person
from tests.contract.document import Json, operations
from tests.published import published

IMPORTED = {app, worker}  # for the errors that they declare
DOCUMENT: Json = published().document
OPERATIONS = operations(DOCUMENT)
CODE = re.compile(r"`(\w+)`:")
GONE = sorted(
    {
        each
        for each in errors.list_problem_types()
        if each.__module__.startswith("builders.") and each.status in {404, 405, 410}
    },
    key=lambda each: each.code,
)
PROMOTE = OPERATIONS["POST /v1/sandbox/promote"]["responses"]
OF_PROMOTE = sorted({code for status in ("403", "409", "410") for code in CODE.findall(str(PROMOTE[status]))})
# An id in the path; the others need a body or are no ids.
SOUGHT = sorted(
    name
    for name, operation in OPERATIONS.items()
    if "404" in operation["responses"]
    and operation.get("x-scope") != "mail:read"  # no preset has it: tests/forwarding/test_receptions.py
    and name.endswith(("_id}", "{id}", "/test", "/verify", "/retry", "/pdf"))
    and "{" in name
)
BODIES: dict[str, Any] = {
    "PATCH /v1/aliases/{alias_id}": {"enabled": False},
    "PATCH /v1/builders/projects/{project_id}": {"name": "x"},
    "PATCH /v1/domains/{id}": {"catch_all": None},
    "PATCH /v1/notifications/webhooks/{webhook_id}": {"enabled": False},
    "PATCH /v1/portfolio/domains/{domain_id}": {"tags": []},
    "PATCH /v1/portfolio/registrars/billing/charges/{charge_id}": {"ignored": True},
    "PATCH /v1/portfolio/team/members/{member_account_id}": {"role": "viewer"},
}
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
NAMED = re.compile(r"\b(GET|POST|PUT|PATCH|DELETE) (/\S+?)(?=[\s;,.:)]|$)")


def address(name: str) -> tuple[str, str]:
    """The method and the path of an operation, with an id that nobody has."""
    method, path = name.split()
    return method, "/".join(str(ids.new()) if each.startswith("{") else each for each in path.split("/"))


def methods_at(path: str) -> set[str]:
    """The methods of all operations whose path fits; of a literal one, its own."""
    named = [name.split() for name in OPERATIONS]
    own = {method for method, each in named if each == path}
    return own or {method for method, each in named if re.fullmatch(re.sub(r"\{\w+\}", "[^/]+", each), path)}


def check_named(next_action: str) -> None:
    """Fails when it names an operation that there is not."""
    for method, path in NAMED.findall(next_action):
        assert f"{method} {path}" in OPERATIONS, next_action


@pytest.mark.parametrize("refusal", GONE, ids=lambda each: each.__name__)
def test_a_refusal_for_what_is_not_there_says_what_to_do(refusal: type[Problem]) -> None:
    assert refusal.remedy
    check_named(refusal.remedy)


@pytest.mark.parametrize("code", OF_PROMOTE)
def test_a_refused_promotion_says_what_to_do(code: str) -> None:
    for refusal in (each for each in errors.list_problem_types() if each.code == code):
        assert refusal.remedy, refusal
        check_named(refusal.remedy)


def test_the_refusals_of_a_promotion_are_found() -> None:
    assert {"live_key_required", "plan_stale", "total_exceeded", "idempotency_in_flight"} <= {*OF_PROMOTE}


@pytest.mark.parametrize("name", SOUGHT)
async def test_an_unknown_id_is_a_404_that_says_what_to_do(alice: Person, dana: Person, name: str) -> None:
    method, path = address(name)
    async with alice.browser() as browser:
        is_of_people = OPERATIONS[name].get("x-scope") == APPROVE
        asking = browser if is_of_people else dana if path.startswith("/v1/portfolio") else alice
        answer = await asking.request(method, path, json=BODIES.get(name))

    assert answer.status_code == 404, answer.text
    assert answer.json()["next_action"]
    check_named(answer.json()["next_action"])


@pytest.mark.parametrize("code", sorted(DOCUMENT["components"]["examples"]))
def test_an_example_of_a_refusal_names_operations_that_there_are(code: str) -> None:
    check_named(DOCUMENT["components"]["examples"][code]["value"]["next_action"])


def test_most_operations_with_an_id_are_asked() -> None:
    assert len(SOUGHT) > 20


@pytest.mark.parametrize("template", sorted({name.split()[1] for name in OPERATIONS}))
async def test_a_method_that_a_path_does_not_have_is_a_405_that_says_what_to_do(
    alice: Person, template: str
) -> None:
    _, path = address(f"GET {template}")
    there = methods_at(path)
    for method in {*METHODS} - there:
        answer = await alice.request(method, path)
        assert answer.status_code == 405, (method, answer.text)
        assert answer.json()["next_action"]
        check_named(answer.json()["next_action"])
        assert {*answer.headers["Allow"].split(", ")} - {"HEAD"} == there


@pytest.mark.parametrize(
    ("method", "path", "named"),
    [
        ("POST", "/v1/aliases", "POST /v1/sandbox/plan"),
        ("PUT", "/v1/aliases/x", "PATCH"),
        ("POST", "/v1/sandbox/plans", "POST /v1/sandbox/plan"),
        ("POST", "/v1/invoices", "POST /v1/sandbox/promote"),
        ("POST", "/docs", "Allow"),
        ("POST", "/v1/sandbox/promotions", "Use POST /v1/sandbox/promote."),
        ("GET", "/v1/sandbox/promotions", "/v1/sandbox/promote supports POST."),
        ("GET", "/v1/names", "GET /v1/aliases"),
        ("POST", "/v1/portfolio/team", "POST /v1/portfolio/team/invites"),
        ("POST", "/v1/portfolio/imports", "POST /v1/portfolio/import"),
        ("POST", "/v1/portfolio/registrars", "PUT /v1/portfolio/registrars/{provider}"),
        ("PATCH", "/v1/portfolio/renewals", "PATCH /v1/portfolio/renewals/bulk"),
        ("POST", "/v1/portfolio/parking", "POST /v1/portfolio/parking/revenue"),
    ],
)
async def test_a_missing_method_says_what_is_meant(anyone: Client, method: str, path: str, named: str) -> None:
    answer = await anyone.request(method, path)
    assert answer.status_code in {404, 405}
    assert named in answer.json()["next_action"]


@pytest.mark.parametrize(
    ("asked", "meant"),
    [
        ("/v1/aliases/", "/v1/aliases"),
        ("/v1/aliases//", "/v1/aliases"),
        ("/aliases", "/v1/aliases"),
        ("/aliases/", "/v1/aliases"),
        ("/V1/Aliases", "/v1/aliases"),
        ("//v1//aliases", "/v1/aliases"),
        ("/sandbox/plans/7", "/v1/sandbox/plans/7"),
        ("/v1/livez", "/livez"),
        ("/v1/builders/waitlist", "/public/v1/builders/waitlist"),
        ("/v1/projects", "/v1/builders/projects"),
        ("/v1/projects/7", "/v1/builders/projects/7"),
        ("/projects", "/v1/builders/projects"),
        ("/v1/webhooks", "/v1/notifications/webhooks"),
        ("/v1/Webhook/Abc", "/v1/notifications/webhooks/Abc"),
        ("/v1/alias", "/v1/aliases"),
        ("/v1/keys", "/v1/api-keys"),
        ("/v1/sandbox/plan/7", "/v1/sandbox/plans/7"),
        ("/v1/portfolio/import/7/undo", "/v1/portfolio/imports/7/undo"),
        ("/api/v1/aliases", "/v1/aliases"),
        ("/v1/domain/7/verfy", "/v1/domains/7/verify"),
        ("/v1/plans", "/v1/sandbox/plans"),
        ("/v1/promote", "/v1/sandbox/promote"),
        ("/v1/portfolio/domain", "/v1/portfolio/domains"),
        ("/v1/names", "/v1/aliases"),
        ("/names/7", "/v1/aliases/7"),
        ("/v1/account", "/v1/me"),
        ("/v1/users/me/", "/v1/me"),
        ("/v1/sandbox/promotions", "/v1/sandbox/promote"),
    ],
)
async def test_a_path_that_is_nearly_one_names_it(anyone: Client, asked: str, meant: str) -> None:
    answer = await anyone.get(f"http://builders.test{asked}")
    assert (answer.status_code, answer.json()["did_you_mean"]) == (404, meant)


@pytest.mark.parametrize(
    ("path", "search"),
    [
        ("/v1/aliases/ada@{domain}", "GET /v1/aliases?q=ada%40{domain}"),
        ("/v1/aliases/ada@{domain}/mail", "GET /v1/aliases?q=ada%40{domain}"),
        ("/v1/domains/{domain}", "GET /v1/domains?q={domain}"),
        ("/v1/builders/projects/lander", "GET /v1/builders/projects?q=lander"),
        ("/v1/invoices/INV-2026-000001", "GET /v1/invoices?number=INV-2026-000001"),
    ],
)
async def test_a_name_in_place_of_an_id_says_how_to_find_the_id(alice: Person, path: str, search: str) -> None:
    answer = await alice.get(path.format(domain="a.example"))
    assert answer.status_code == 404
    assert answer.json()["next_action"] == f"Send the `id`. Find it: {search.format(domain='a.example')}"
    found = await alice.get(search.format(domain="a.example").removeprefix("GET "))
    assert (found.status_code, found.json()["items"]) == (200, [])


async def test_a_long_text_in_place_of_an_id_is_not_searched_for(alice: Person) -> None:
    answers = [await alice.get(f"/v1/aliases/{'a' * size}") for size in (320, 321)]
    assert ["?q=" in each.json()["next_action"] for each in answers] == [True, False]


@pytest.mark.parametrize(
    "headers", [{}, {"X-API-Key": "svc_test_unknown"}, {"Authorization": "Bearer svc_live_x"}]
)
async def test_who_has_no_key_is_told_what_works_without_one(anyone: Client, headers: dict[str, str]) -> None:
    answer = await anyone.get("/v1/aliases", headers=headers)
    assert answer.status_code == 401
    named = NAMED.findall(answer.json()["next_action"])
    assert named
    for method, path in named:
        assert (await anyone.request(method, path, json={})).status_code == 200


@pytest.mark.parametrize(
    "asked", ["/nothing", "/v1", "/v1/nothing/", "/v1/x/y/z", "/wp-login.php", "/.env", "/" * 5_000, "/v1" * 1_000]
)
async def test_a_path_that_resembles_none_names_none(anyone: Client, asked: str) -> None:
    answer = await anyone.get(f"http://builders.test{asked}")
    assert answer.status_code == 404
    assert "did_you_mean" not in answer.json()
    assert answer.json()["next_action"]
