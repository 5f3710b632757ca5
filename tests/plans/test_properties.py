"""Properties of planning: a promoted plan reaches the desired state, and replanning is empty."""

import json
from uuid import UUID

from hypothesis import event, given, strategies as st

from builders.kit.values import ids
from builders.plans import planning
from builders.plans.records import ACTIONS, Action, ActionKind, Manifest
from tests.plans.strategies import OURS, AccountState, account_states, manifests, name_of

ALICE, BOB = ids.new(), ids.new()


@given(account_states(), manifests())
def test_a_promoted_plan_reaches_the_desired_state(state: AccountState, manifest: Manifest) -> None:
    draft = state.draft(manifest)
    event("blocked" if draft.errors else "ready")
    if draft.errors:
        return
    after = {alias.name: alias for alias in state.after(manifest, draft.actions).aliases}
    suspended = {alias.name for alias in state.aliases if alias.status == "suspended"}
    for desired in manifest.aliases:
        alias = after[name_of(desired)]
        assert (alias.manifest, alias.manifest_key) == (OURS, desired.key)
        if alias.name in suspended:
            assert alias in state.aliases
            continue
        assert {*alias.destinations} == {*desired.destinations}
        assert (alias.enabled, alias.note, alias.labels) == (desired.enabled, desired.note, desired.labels)


@given(account_states(), manifests())
def test_replanning_after_a_promotion_changes_nothing(state: AccountState, manifest: Manifest) -> None:
    draft = state.draft(manifest)
    if draft.errors:
        return
    again = state.after(manifest, draft.actions).draft(manifest)
    assert again.errors == ()
    assert {action.action for action in again.actions} <= {ActionKind.NO_OP}


@given(account_states(), manifests())
def test_every_alias_of_a_manifest_has_one_action_or_an_error(state: AccountState, manifest: Manifest) -> None:
    draft = state.draft(manifest)
    desired_addresses = {f"alias.{desired.key}" for desired in manifest.aliases}
    addresses = [action.address for action in draft.actions]
    wrong = {error.address for error in draft.errors}
    assert len(addresses) == len({*addresses})
    assert wrong <= desired_addresses
    assert desired_addresses <= {*addresses} | wrong
    deleted = {action.address for action in draft.actions if action.action is ActionKind.DELETE}
    assert {*addresses} - deleted <= desired_addresses
    assert not deleted & desired_addresses


@given(account_states(), manifests())
def test_only_managed_resources_are_deleted(state: AccountState, manifest: Manifest) -> None:
    draft = state.draft(manifest)
    gone = {
        action.resource_id for action in draft.actions if action.action in {ActionKind.DELETE, ActionKind.REPLACE}
    }
    ours = {alias.id: alias for alias in state.aliases if alias.manifest == OURS}
    assert gone <= ours.keys()
    desired_addresses = {name_of(desired) for desired in manifest.aliases}
    assert not {ours[each].name for each in gone if each is not None} & desired_addresses
    if not manifest.prune:
        assert all(action.action is not ActionKind.DELETE for action in draft.actions)
    elif not draft.errors:
        left = {alias.name for alias in state.after(manifest, draft.actions).aliases if alias.manifest == OURS}
        suspended = {alias.name for alias in state.aliases if alias.is_blocked}  # these stay
        assert left - suspended == desired_addresses - suspended


@given(account_states(), manifests())
def test_every_resource_left_alone_has_a_warning(state: AccountState, manifest: Manifest) -> None:
    draft = state.draft(manifest)
    if draft.errors or manifest.prune:
        return
    after = state.after(manifest, draft.actions)
    desired_addresses = {name_of(desired) for desired in manifest.aliases}
    left = {
        f"alias.{each.manifest_key}"
        for each in after.aliases
        if each.manifest == OURS and each.name not in desired_addresses and not each.is_blocked
    }
    assert {warning.address for warning in draft.warnings if warning.code == "left_alone"} == left


@given(account_states(), manifests())
def test_the_same_state_and_manifest_have_the_same_plan(state: AccountState, manifest: Manifest) -> None:
    first, second = state.draft(manifest), state.draft(manifest)
    assert first == second
    assert digest_of(ALICE, manifest, first.actions) == digest_of(ALICE, manifest, second.actions)
    assert digest_of(ALICE, manifest, first.actions) != digest_of(BOB, manifest, first.actions)


@given(account_states(), manifests(), st.one_of(st.none(), account_states()), manifests())
def test_another_state_or_manifest_has_another_digest(
    state: AccountState, manifest: Manifest, other_state: AccountState | None, other: Manifest
) -> None:
    one, two = state.draft(manifest), (other_state or state).draft(other)
    same = bound(manifest, one.actions) == bound(other, two.actions)
    assert (digest_of(ALICE, manifest, one.actions) == digest_of(ALICE, other, two.actions)) == same


def digest_of(account_id: UUID, manifest: Manifest, actions: tuple[Action, ...]) -> str:
    """Return the digest of a plan."""
    digest = planning.digest(planning.MANIFEST.dump_python(manifest, mode="json"))
    return planning.digest_plan(account_id, digest, ACTIONS.dump_python(actions, mode="json"))


def bound(manifest: Manifest, actions: tuple[object, ...]) -> str:
    """Return the content of a digest in another form."""
    return json.dumps([repr(manifest), [repr(action) for action in actions]])


@given(account_states(), manifests())
def test_stored_actions_equal_the_planned_ones(state: AccountState, manifest: Manifest) -> None:
    """The digest covers the actions: JSON must keep them unchanged."""
    actions = state.draft(manifest).actions
    stored = json.loads(ACTIONS.dump_json(actions))
    assert ACTIONS.validate_python(stored) == actions
