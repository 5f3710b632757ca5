"""The diff of aliases: claims, changes and releases. Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from builders.aliases.records import Alias, AliasStatus, Name
from builders.sandbox.records import (
    Action,
    ActionKind,
    AliasView,
    Finding,
    Kind,
    Manifest,
    OnConflict,
    Place,
    Risk,
    StepError,
)
from builders.sandbox.resources.aliases import terms
from builders.sandbox.resources.aliases.names import ResolvedAlias, find_errors, list_routes, match_existing
from builders.sandbox.resources.kinds import KindDiff, ManagedKind
from builders.sandbox.resources.live_state import LiveState
from builders.sandbox.resources.references import Domains

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


def diff(manifest: Manifest, resolved: Sequence[ResolvedAlias], live: LiveState, domains: Domains) -> KindDiff:
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
    removed = [replace(ALIAS.delete(each), undoable_until=terms.undoable_until(each, live)) for each in pruned]
    return KindDiff(
        actions=tuple(planned),
        removed=tuple(removed),
        errors=tuple(errors),
        warnings=(
            *_warn_suspended(manifest, desired),
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
    reason = "The name is free." if old is None else f"The name replaces {old.address}."
    claim = Action(
        address=each.address,
        kind=Kind.ALIAS,
        action=ActionKind.CREATE,
        after=_desired_view(each),
        reason=" ".join([reason, *terms.explain_free(Name(domain.domain, validation.key), continues, live)]),
        risk=Risk.LOW,
        price=price,
        place=Place(
            domain=domain.domain,
            local_part=validation.normalized,
            key=validation.key,
            skeleton=validation.skeleton,
            is_own=each.is_own,
        ),
        after_unknown=each.unknown,
        requires=each.requires,
        continues=continues,
    )
    if old is None:
        return claim
    replaced = ALIAS.change(old, _desired_view(each), unknown=each.unknown)
    return replace(
        claim,
        action=ActionKind.REPLACE,
        before=replaced.before,
        changed_fields=replaced.changed_fields,
        risk=Risk.HIGH,
        resource_id=old.id,
        version=old.version,
        undoable_until=terms.undoable_until(old, live),
    )


def plan_change(manifest: Manifest, each: ResolvedAlias, mine: Alias, old: Alias | None) -> Action | Finding:
    """Return the action on a name of the account, or the error if this manifest cannot change it.

    `old` is the former alias of the key, if its name is no longer in the manifest.
    """
    if _is_suspended(manifest, each, mine):
        return replace(ALIAS.change(mine, ALIAS.view(mine)), reason="It is suspended and does not change.")
    if mine.status is AliasStatus.SUSPENDED:
        return Finding(code="alias_suspended", address=each.address, message="This name is suspended.")
    if old is not None:
        message = f"The key belonged to {old.address}, and the account already has {mine.address}: use a new key."
        return Finding(code="key_in_use", address=each.address, message=message)
    is_adopted = mine.manifest != manifest.name
    if is_adopted and manifest.on_conflict is not OnConflict.ADOPT:
        return ALIAS.conflict(each.desired.key, "this name", mine.manifest)
    return ALIAS.change(
        mine, _desired_view(each), is_adopted=is_adopted, unknown=each.unknown, requires=each.requires
    )


def left_alone(alias: Alias) -> Finding:
    """Return the warning for a name that is no longer in the manifest and stays."""
    if not alias.is_blocked:
        return ALIAS.leave(alias)
    return Finding(
        code="alias_suspended",
        address=f"alias.{alias.manifest_key}",
        message=f"{alias.address} is no longer in the manifest; the operator suspended it, so it does not change.",
    )


def _warn_suspended(manifest: Manifest, desired: Sequence[ResolvedAlias]) -> Iterator[Finding]:
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
