"""The OpenAPI document against the endpoint tables of the specification."""

import gzip
import json
from collections import Counter

import pytest

from builders.app import create_app
from builders.kit.http.application import OPEN_ENUM
from builders.kit.process.settings import Settings
from builders.kit.process.version import VERSION
from docs import schema_names
from docs.document import reachable
from tests.contract import checks
from tests.contract.document import Json, operations
from tests.contract.operations import CLOSED_SETS, MEMBERS, OPERATIONS, REPORTS
from tests.contract.pending import PENDING
from tests.published import published

EXPECTED = {each.name: each for each in OPERATIONS}


def document() -> Json:
    """The document of the service, derived without a database."""
    return published().document


def test_no_setting_changes_the_document() -> None:
    others = {"limits": "off", "lander_origins": ["https://a.example"], "base_url": "https://b.example"}
    assert create_app(Settings.model_validate(others)).openapi() == document()


def test_the_tables_have_75_operations() -> None:
    assert len(OPERATIONS) == len(EXPECTED) == 75


def test_the_document_is_not_empty() -> None:
    assert len(operations(document())) >= len(OPERATIONS) - len(PENDING) > 0


def test_the_revision_is_the_specifications() -> None:
    assert document()["info"]["version"] == "0.2.54"


def test_the_release_is_an_extension() -> None:
    assert document()["info"]["x-release"] == VERSION


def test_the_document_is_small() -> None:
    """An agent reads it whole, so each repeated part is there once."""
    served = json.dumps(document(), ensure_ascii=False, separators=(",", ":")).encode()
    assert len(served) <= 1_316_000
    assert len(gzip.compress(served)) <= 176_000


def test_repeated_refusals_and_parameters_are_references() -> None:
    whole = Counter[str]()
    for item in document()["paths"].values():
        for operation in item.values():
            refused = [each for status, each in operation["responses"].items() if status >= "4"]
            whole.update(json.dumps(each) for each in (*refused, *operation.get("parameters", ())))
    assert not [text for text, times in whole.items() if times > 1 and "$ref" not in json.loads(text)]


def test_no_constrained_schema_repeats_inline() -> None:
    uses = Counter(map(schema_names.shape, schema_names.list_inline(document())))
    assert uses
    repeated = "\n".join(f"{times} times: {text}" for text, times in uses.items() if times > 1)
    assert not repeated, f"name them in docs/schema_names.toml:\n{repeated}"


def test_the_enums_of_responses_are_open_and_those_of_requests_are_closed() -> None:
    schemas = document()["components"]["schemas"]
    items = [each for item in document()["paths"].values() for each in item.values()]
    shown = reachable(schemas, [[each["responses"] for each in items], document()["webhooks"]])
    asked = reachable(schemas, [(each.get("requestBody"), each.get("parameters")) for each in items])
    assert [name for name in shown if '"enum": [' in json.dumps(schemas[name])] == []
    assert [name for name in asked if OPEN_ENUM in json.dumps(schemas[name])] == []
    assert schemas["PlanStatusValue"][OPEN_ENUM] == schemas["PlanStatus"]["enum"]


def test_no_description_speaks_of_an_extension_of_ours() -> None:
    """`x-beyond` is for programs that compare the document with the base specification."""
    assert "x-beyond" not in document()["info"]["description"]


def test_every_operation_is_built_or_pending() -> None:
    said = list(checks.presence(document(), EXPECTED, PENDING))
    assert not said, "\n".join(said)


@pytest.mark.parametrize(
    "check",
    [
        checks.statuses,
        checks.given_parameters,
        checks.bodies,
        checks.credentials,
        checks.named_scopes,
    ],
)
def test_the_document_says_what_the_tables_say(check: checks.Check) -> None:
    said = list(check(document(), EXPECTED))
    assert not said, "\n".join(said)


def test_given_members_of_bodies_are_as_given() -> None:
    said = list(checks.members(document(), MEMBERS, CLOSED_SETS))
    assert not said, "\n".join(said)


def test_every_operation_documents_its_refusals() -> None:
    said = list(checks.refusals(document(), REPORTS))
    assert not said, "\n".join(said)


def test_every_operation_says_what_all_of_its_kind_can_answer() -> None:
    said = list(checks.whole(document()))
    assert not said, "\n".join(said)


def test_every_body_and_answer_has_a_good_example() -> None:
    said = list(checks.examples(document()))
    assert not said, "\n".join(said)


def test_every_operation_is_fit_for_generated_clients() -> None:
    said = list(checks.fit_for_clients(document()))
    assert not said, "\n".join(said)
