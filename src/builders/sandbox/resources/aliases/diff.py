"""The diff of aliases: claims, changes and releases. Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from builders.aliases.records import Alias, AliasStatus, Name
from builders.sandbox.manifest import AliasView, Manifest, OnConflict, View, changes
from builders.sandbox.records import Action, ActionKind, Finding, Kind, Place, Risk
from builders.sandbox.resources.aliases import terms
from builders.sandbox.resources.aliases.names import ResolvedAlias, find_errors, list_routes, match_existing
from builders.sandbox.resources.kinds import KindDiff, ManagedKind, explain_change
from builders.sandbox.resources.live_state import LiveState
from builders.sandbox.resources.references import DomainIndex
from builders.sandbox.step_errors import StepError

ALIAS: ManagedKind[Alias] = ManagedKind(
    kind=Kind.ALIAS,
    view=lambda each: AliasView(
        address=each.address, key=each.manifest_key or "", project_id=each.project_id, **each.settings()
    ),
    describe=lambda each: each.address,
    sensitive=frozenset({"destinations", "enabled", "project_id"}),
    consequence="",
    risk=Risk.HIGH,
    changed=StepError(code="alias_changed", message="The alias was changed or released in the meantime."),
    key_in_use=StepError(code="key_in_use", message="The key now belongs to another name."),
)


def diff(manifest: Manifest, resolved: Sequence[ResolvedAlias], live: LiveState, domains: DomainIndex) -> KindDiff:
    """Return the actions on aliases that lead from the live state to the desired one, with all errors."""
    desired = match_existing(resolved, live.aliases)
    keys, names = {each.desired.key for each in desired}, {each.name for each in desired}
    dropped = [each for each in live.aliases if each.manifest == manifest.name and each.name not in names]
    # An alias is replaced if its key now has another name, and left if its key is no longer in the manifest.
    replaced = {alias.manifest_key: alias for alias in dropped if alias.manifest_key in keys}
    left = [alias for alias in dropped if alias.manifest_key not in keys]
    pruned = [alias for alias in left if not alias.is_blocked] if manifest.prune else []
    released = {alias.name for alias in (*replaced.values(), *pruned) if not alias.is_blocked}

    routes = list_routes([*live.aliases, *live.forwarded], domains)
    routes = {name: forwards for name, forwards in routes.items() if name not in released}
    errors = list(find_errors(desired, routes, live.availability))
    refused = {error.address for error in errors}
    outcomes = [
        plan_claim(each, replaced.get(each.desired.key), live)
        if each.mine is None
        else plan_change(manifest, each, each.mine, replaced.get(each.desired.key))
        for each in desired
        if each.mine is not None or each.address not in refused
    ]
    planned = [each for each in outcomes if isinstance(each, Action)]
    errors += [each for each in outcomes if isinstance(each, Finding)]
    projects = {each.address: each.project for each in desired if each.project}
    errors += terms.refuse_by_project(planned, projects, live.sizes)
    errors += terms.refuse_overdue(planned, live.overdue)
    removed = [plan_deletion(each, live) for each in pruned]
    return KindDiff(
        actions=tuple(planned),
        removed=tuple(removed),
        errors=tuple(errors),
        warnings=(
            *list_suspended(manifest, desired),
            *terms.warn_released([*planned, *removed], live.releases),
            *(left_alone(each) for each in left if each not in pruned),
        ),
    )


def plan_claim(each: ResolvedAlias, old: Alias | None, live: LiveState) -> Action | Finding:
    """Return the action that claims a free name and releases the former name of the key, or the error."""
    if old is not None and old.is_blocked:
        message = f"The key belongs to {old.address}, which the operator suspended: use a new key."
        return Finding(code="alias_suspended", address=each.address, message=message)
    domain, validation = each.decision.domain, each.decision.validation
    assert domain is not None  # noqa: S101 - only names without errors are claimed
    price, continues = terms.price_claim(domain, validation, live)
    before, after = None if old is None else ALIAS.view(old), _desired_view(each)
    return Action(
        address=each.address,
        kind=Kind.ALIAS,
        action=ActionKind.CREATE if old is None else ActionKind.REPLACE,
        before=before,
        after=after,
        changed_fields=() if before is None else _changes(each, before, after),
        reason=" ".join(
            [
                "The name is free." if old is None else f"The name replaces {old.address}.",
                *terms.explain_free(live.reclaims.get(Name(domain.domain, validation.key)), continues),
            ]
        ),
        risk=Risk.LOW if old is None else Risk.HIGH,
        price=price,
        resource_id=None if old is None else old.id,
        version=None if old is None else old.version,
        place=Place(
            domain=domain.domain,
            local_part=validation.normalized,
            key=validation.key,
            skeleton=validation.skeleton,
            is_own=each.is_own,
        ),
        after_unknown=_unknown(each),
        requires=_requires(each),
        continues=continues,
        undoable_until=None if old is None else terms.undoable_until(old, live),
    )


def plan_change(manifest: Manifest, each: ResolvedAlias, mine: Alias, old: Alias | None) -> Action | Finding:
    """Return the action on a name of the account, or the error if this manifest cannot change it.

    `old` is the former alias of the key, if its name is no longer in the manifest.
    """
    if _is_suspended(manifest, each, mine):
        return _change(each, mine, ActionKind.NO_OP, (), "It is suspended and does not change.")
    if mine.status is AliasStatus.SUSPENDED:
        return Finding(code="alias_suspended", address=each.address, message="This name is suspended.")
    if old is not None:
        message = f"The key belonged to {old.address}, and the account already has {mine.address}: use a new key."
        return Finding(code="key_in_use", address=each.address, message=message)
    changed = _changes(each, ALIAS.view(mine), _desired_view(each))
    if mine.manifest == manifest.name:
        kind = ActionKind.UPDATE if changed else ActionKind.NO_OP
        return _change(each, mine, kind, changed, explain_change(changed))
    if manifest.on_conflict is OnConflict.ADOPT:
        changed = ("manifest", *changed)
        return _change(each, mine, ActionKind.ADOPT, changed, "This manifest adopts the name.")
    return ALIAS.conflict(each.desired.key, "this name", mine.manifest)


def plan_deletion(alias: Alias, live: LiveState) -> Action:
    """Return the action that releases a name that is no longer in the manifest."""
    return replace(ALIAS.delete(alias), undoable_until=terms.undoable_until(alias, live))


def left_alone(alias: Alias) -> Finding:
    """Return the warning for a name that is no longer in the manifest and stays."""
    if not alias.is_blocked:
        return ALIAS.leave(alias)
    return Finding(
        code="alias_suspended",
        address=f"alias.{alias.manifest_key}",
        message=f"{alias.address} is no longer in the manifest; the operator suspended it, so it does not change.",
    )


def list_suspended(manifest: Manifest, desired: Sequence[ResolvedAlias]) -> Iterator[Finding]:
    """Yield a warning for each suspended name, which stays unchanged."""
    for each in desired:
        if each.mine is not None and _is_suspended(manifest, each, each.mine):
            message = f"{each.mine.address} is suspended and does not change until the suspension ends."
            yield Finding(code="alias_suspended", address=each.address, message=message)


def _is_suspended(manifest: Manifest, each: ResolvedAlias, mine: Alias) -> bool:
    """Return whether a managed name is suspended; the rest of the manifest is planned."""
    key = (manifest.name, each.desired.key)
    return mine.status is AliasStatus.SUSPENDED and (mine.manifest, mine.manifest_key) == key


def _desired_view(each: ResolvedAlias) -> AliasView:
    """Return the desired alias. The order of destinations has no meaning."""
    mine, settings = each.mine, each.desired.settings()
    if mine is not None and set(mine.destinations) == set(each.desired.destinations):
        settings["destinations"] = mine.destinations
    return AliasView(
        address=each.normal,
        key=each.desired.key,
        project_id=each.project.project_id if each.project else None,
        **settings,
    )


def _changes(each: ResolvedAlias, before: View, after: View) -> tuple[str, ...]:
    changed = changes(before, after)
    return changed if "project_id" in changed else (*changed, *_unknown(each))


def _unknown(each: ResolvedAlias) -> tuple[str, ...]:
    return each.project.after_unknown if each.project else ()


def _requires(each: ResolvedAlias) -> tuple[str, ...]:
    return tuple(address for address in (each.project and each.project.address, each.domain_address) if address)


def _change(each: ResolvedAlias, mine: Alias, kind: ActionKind, changed: tuple[str, ...], reason: str) -> Action:
    risk = Risk.MEDIUM if ALIAS.sensitive & set(changed) else Risk.LOW
    return Action(
        address=each.address,
        kind=Kind.ALIAS,
        action=kind,
        before=ALIAS.view(mine),
        after=_desired_view(each) if changed else ALIAS.view(mine),
        changed_fields=changed,
        reason=reason,
        risk=risk,
        resource_id=mine.id,
        version=mine.version,
        after_unknown=_unknown(each) if changed else (),
        requires=_requires(each) if changed else (),
    )
