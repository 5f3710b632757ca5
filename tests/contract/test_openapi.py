"""The OpenAPI document against the endpoint tables of the specification."""

import pytest

from builders.app import create_app
from builders.kit.process.settings import Settings
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
