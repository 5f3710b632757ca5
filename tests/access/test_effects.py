"""The effect of each operation: what a mandate can allow."""

import pytest

from builders.kit.callers import APPROVE
from builders.kit.effects import Effect
from builders.kit.http.callers import needs
from tests.contract.document import Json, operations
from tests.published import published

OPERATIONS: dict[str, Json] = operations(published().document)

AUTHORITY = {
    "account_cancel_erasure",
    "account_confirm_decider",
    "account_request_complete_export",
    "account_request_erasure",
    "account_limit_machines",
    "aliases_end_reception",
    "aliases_set_reception",
    "api_keys_create",
    "api_keys_remove_scopes",
    "api_keys_revoke",
    "api_keys_revoke_all",
    "api_keys_enable",
    "api_keys_rotate",
    "auth_decide",
    "auth_decide_connection",
    "auth_end_session",
    "auth_get_request",
    "auth_list_connection_requests",
    "auth_log_out",
    "auth_open_connection_request",
    "auth_open_request",
    "auth_revoke_connection",
    "invoices_put_billing_details",
    "portfolio_connect_registrar",
    "portfolio_create_renewal_calendar",
    "portfolio_revoke_renewal_calendar",
    "portfolio_disconnect_registrar",
    "portfolio_accept_team_invite",
    "portfolio_accept_team_invite_page",
    "portfolio_create_team_invite",
    "portfolio_delete_team_invite",
    "portfolio_delete_team_member",
    "portfolio_update_team_member",
    "profile_resend",
    "profile_update",
    "sandbox_change_policy",
    "sandbox_confirm_policy",
    "sandbox_decide",
    "sandbox_discard_policy",
    "sandbox_promote_as_person",
    "sandbox_withdraw",
}
OUTWARD = {
    "aliases_add_correspondent",
    "aliases_answer_message",
    "aliases_change",
    "domains_change",
    "portfolio_request_auth_code",
    "webhooks_change",
    "webhooks_create",
}
PROPOSE = {
    "account_create_export",
    "portfolio_preview_portfolio_import",
    "sandbox_make_plan",
    "sandbox_request_approval",
    "sandbox_simulate",
}


def of(effect: Effect) -> set[str]:
    """Return the ids of the operations that declare the effect."""
    return {each["operationId"] for each in OPERATIONS.values() if each.get("x-effect") == effect}


def test_each_operation_with_a_scope_has_an_effect() -> None:
    assert {name for name, each in OPERATIONS.items() if "x-scope" in each and "x-effect" not in each} == set()


@pytest.mark.parametrize(
    ("effect", "expected"),
    [(Effect.AUTHORITY, AUTHORITY), (Effect.OUTWARD, OUTWARD), (Effect.PROPOSE, PROPOSE)],
    ids=["authority", "outward", "propose"],
)
def test_operations_have_their_effect(effect: Effect, expected: set[str]) -> None:
    assert of(effect) == expected


def test_each_delete_has_the_effect_delete_or_authority() -> None:
    found = {str(each["x-effect"]) for name, each in OPERATIONS.items() if name.startswith("DELETE ")}
    assert found == {Effect.DELETE, Effect.AUTHORITY}


def test_a_scope_that_writes_declares_its_effect() -> None:
    with pytest.raises(TypeError, match="projects:write declares its effect"):
        needs("projects:write")


def test_a_scope_of_people_has_authority_whatever_is_declared() -> None:
    assert needs(APPROVE, effect=Effect.READ).dependency.effect is Effect.AUTHORITY
