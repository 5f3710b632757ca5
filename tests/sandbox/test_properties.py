"""Planning, whatever is there and whatever is wanted: the plan leads to the wish, and from there nowhere else."""

import json

from hypothesis import event, given, strategies as st

from builders.kit.values import ids
from builders.sandbox.manifest import Manifest
from builders.sandbox.planning import digest_plan
from builders.sandbox.records import ACTIONS, ActionKind
from tests.sandbox.worlds import OURS, World, manifests, name_of, thoroughly, worlds

ALICE, BOB = ids.new(), ids.new()


@thoroughly
@given(worlds(), manifests())
def test_a_promoted_plan_is_the_wish(world: World, manifest: Manifest) -> None:
    draft = world.draft(manifest)
    event("blocked" if draft.errors else "ready")
    if draft.errors:
        return
    after = {alias.name: alias for alias in world.after(manifest, draft.actions).aliases}
    suspended = {alias.name for alias in world.aliases if alias.status == "suspended"}
    for wish in manifest.aliases:
        alias = after[name_of(wish)]
        assert (alias.manifest, alias.manifest_key) == (OURS, wish.key)
        if alias.name in suspended:
            assert alias in world.aliases
            continue
        assert {*alias.destinations} == {*wish.destinations}
        assert (alias.enabled, alias.note, alias.labels) == (wish.enabled, wish.note, wish.labels)


@thoroughly
@given(worlds(), manifests())
def test_planning_again_after_a_promotion_changes_nothing(world: World, manifest: Manifest) -> None:
    draft = world.draft(manifest)
    if draft.errors:
        return
    again = world.after(manifest, draft.actions).draft(manifest)
    assert again.errors == ()
    assert {action.action for action in again.actions} <= {ActionKind.NO_OP}


@thoroughly
@given(worlds(), manifests())
def test_every_alias_of_a_manifest_has_one_action_or_an_error(world: World, manifest: Manifest) -> None:
    draft = world.draft(manifest)
    wished = {f"alias.{wish.key}" for wish in manifest.aliases}
    addresses = [action.address for action in draft.actions]
    wrong = {error.address for error in draft.errors}
    assert len(addresses) == len({*addresses})
    assert wrong <= wished
    assert wished <= {*addresses} | wrong
    deleted = {action.address for action in draft.actions if action.action is ActionKind.DELETE}
    assert {*addresses} - deleted <= wished
    assert not deleted & wished


@thoroughly
@given(worlds(), manifests())
def test_only_what_the_manifest_managed_is_given_up(world: World, manifest: Manifest) -> None:
    draft = world.draft(manifest)
    gone = {
        action.resource_id for action in draft.actions if action.action in {ActionKind.DELETE, ActionKind.REPLACE}
    }
    ours = {alias.id: alias for alias in world.aliases if alias.manifest == OURS}
    assert gone <= ours.keys()
    wished = {name_of(wish) for wish in manifest.aliases}
    assert not {ours[each].name for each in gone if each is not None} & wished
    if not manifest.prune:
        assert all(action.action is not ActionKind.DELETE for action in draft.actions)
    elif not draft.errors:
        left = {alias.name for alias in world.after(manifest, draft.actions).aliases if alias.manifest == OURS}
        assert left == wished


@thoroughly
@given(worlds(), manifests())
def test_whatever_is_left_out_and_stays_is_warned_of(world: World, manifest: Manifest) -> None:
    draft = world.draft(manifest)
    if draft.errors or manifest.prune:
        return
    after = world.after(manifest, draft.actions)
    wished = {name_of(wish) for wish in manifest.aliases}
    left = {
        f"alias.{each.manifest_key}" for each in after.aliases if each.manifest == OURS and each.name not in wished
    }
    assert {warning.address for warning in draft.warnings if warning.code == "left_alone"} == left


@thoroughly
@given(worlds(), manifests())
def test_the_same_world_and_manifest_have_the_same_plan(world: World, manifest: Manifest) -> None:
    first, second = world.draft(manifest), world.draft(manifest)
    assert first == second
    assert digest_plan(ALICE, manifest, first.actions) == digest_plan(ALICE, manifest, second.actions)
    assert digest_plan(ALICE, manifest, first.actions) != digest_plan(BOB, manifest, first.actions)


@thoroughly
@given(worlds(), manifests(), st.one_of(st.none(), worlds()), manifests())
def test_another_world_or_manifest_is_another_digest(
    world: World, manifest: Manifest, other_world: World | None, other: Manifest
) -> None:
    one, two = world.draft(manifest), (other_world or world).draft(other)
    same = bound(manifest, one.actions) == bound(other, two.actions)
    assert (digest_plan(ALICE, manifest, one.actions) == digest_plan(ALICE, other, two.actions)) == same


def bound(manifest: Manifest, actions: tuple[object, ...]) -> str:
    """What a digest stands for, written down in another way."""
    return json.dumps([repr(manifest), [repr(action) for action in actions]])


@thoroughly
@given(worlds(), manifests())
def test_a_plan_reads_the_same_when_it_was_stored(world: World, manifest: Manifest) -> None:
    """The journal compares with what was digested: nothing may be lost on the way through JSON."""
    actions = world.draft(manifest).actions
    stored = json.loads(ACTIONS.dump_json(actions))
    assert ACTIONS.validate_python(stored) == actions
