"""Each operation of the document once: as Alice, as a stranger with her ids, and as a viewer of her portfolio."""

from collections.abc import Mapping

import httpx
import pytest

from codegen.generate import document
from codegen.snippets import Call, calls
from tests.deployed.conftest import Deployed, Person, connect

CALLS = calls(document())
# Of Alice, made with the examples of the document, by the path of the resource.
MADE = (
    "/v1/builders/projects",
    "/v1/domains",
    "/v1/notifications/webhooks",
    "/v1/portfolio/domains",
    "/v1/portfolio/import",
    "/v1/api-keys",
    "/v1/sandbox/plan",
)
FORMS = {"not_found", "method_not_allowed", "unsupported_media_type", "unknown_parameter"}


def send(client: httpx.Client, call: Call, path: Mapping[str, str | int]) -> httpx.Response:
    of = call.operation
    form = {"data" if of.form else "json": call.body} if call.body is not None else {}
    return client.request(of.method, of.path.format(**path), params=dict(call.query), **form)  # type: ignore[arg-type] # one of two members


@pytest.fixture(scope="module")
def ids(alice: Person) -> Mapping[str, str]:
    """Return an id of Alice for each path of a list that has one, with the parameter that follows."""
    for call in CALLS:
        if call.operation.method == "POST" and call.operation.path in MADE:
            send(alice.client(call.operation.scope), call, call.path)
    found = {}
    for call in CALLS:
        if call.operation.method == "GET" and "{" not in call.operation.path:
            answer = send(alice.client(call.operation.scope), call, {})
            media = answer.headers.get("content-type", "")
            body = answer.json() if answer.is_success and media.startswith("application/json") else {}
            items = body.get("items") if isinstance(body, dict) else None
            if items and isinstance(items[0], dict) and "id" in items[0]:
                found[call.operation.path] = items[0]["id"]
    return found


def path_of(call: Call, ids: Mapping[str, str]) -> Mapping[str, str | int] | None:
    """Return the path parameters with an id of Alice; None for other operations."""
    root, _, rest = call.operation.path.partition("/{")
    return {**call.path, rest.partition("}")[0]: ids[root]} if rest and root in ids else None


def test_a_stranger_reaches_nothing_of_another_account(bob: Person, ids: Mapping[str, str]) -> None:
    assert ids.keys() > {"/v1/builders/projects", "/v1/domains", "/v1/portfolio/domains"}
    wrong = {}
    for call in CALLS:
        path = path_of(call, ids)
        if path is None or call.operation.public:
            continue
        answer = send(bob.client(call.operation.scope), call, path)
        if answer.status_code not in {403, 404, 422} or ids[call.operation.path.partition("/{")[0]] in answer.text:
            wrong[call.operation.id] = (answer.status_code, answer.text)
    assert wrong == {}


def test_a_viewer_reads_a_portfolio_and_changes_nothing(
    alice: Person, charlie: Person, ids: Mapping[str, str]
) -> None:
    before = alice.domainer.get("/v1/portfolio/domains").json()["items"]
    charlie.domainer.headers["X-Portfolio-Account"] = alice.account_id
    shown = charlie.domainer.get("/v1/portfolio/domains").json()["items"]
    assert [each["id"] for each in shown] == [each["id"] for each in before] != []
    wrong = {}
    for call in CALLS:
        of = call.operation
        if not of.path.startswith("/v1/portfolio/domains") or of.method == "GET":
            continue
        answer = send(charlie.domainer, call, path_of(call, ids) or call.path)
        if answer.status_code != httpx.codes.FORBIDDEN:
            wrong[of.id] = (answer.status_code, answer.text)
    assert wrong == {}
    assert alice.domainer.get("/v1/portfolio/domains").json()["items"] == before


def test_the_owner_reaches_each_operation(deployed: Deployed, alice: Person, ids: Mapping[str, str]) -> None:
    wrong = {}
    with connect(deployed.address) as anyone:
        for call in sorted(CALLS, key=lambda each: each.operation.method == "DELETE"):
            of = call.operation
            if of.path.startswith("/v1/api-keys/"):  # they would end the keys of the test
                continue
            answer = send(anyone if of.public else alice.client(of.scope), call, path_of(call, ids) or call.path)
            media = answer.headers.get("content-type", "")
            problem = answer.json() if answer.is_error and "json" in media else {}
            if problem.get("code") in FORMS:
                wrong[of.id] = problem
    assert wrong == {}
