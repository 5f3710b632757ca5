"""One action of a plan: what it changes, what it costs, and what must still be true when it is done. Pure."""

from collections.abc import Iterator, Sequence

from builders.aliases.records import Alias, AliasStatus, Name
from builders.sandbox.kinds import releases
from builders.sandbox.kinds.alias_checks import Judged
from builders.sandbox.kinds.live import Live
from builders.sandbox.records import Action, ActionKind, Finding, Kind, Place, Risk
from builders.sandbox.views import AliasView, changes
from builders.sandbox.wishes import Manifest, OnConflict


def claim(each: Judged, old: Alias | None, live: Live) -> Action | Finding:
    """Claim a free name, and release the one that the key had; or say why that cannot be."""
    if old is not None and old.is_blocked:
        message = f"The key stands for {old.address}, which the operator suspended: take a new key."
        return Finding(code="alias_suspended", address=each.address, message=message)
    domain, verdict = each.ruling.domain, each.ruling.verdict
    assert domain is not None  # noqa: S101 - only what can be had is claimed
    price, continues = releases.price(domain, verdict, live)
    before, after = None if old is None else view(old), _wanted(each)
    return Action(
        address=each.address,
        kind=Kind.ALIAS,
        action=ActionKind.CREATE if old is None else ActionKind.REPLACE,
        before=before,
        after=after,
        changed_fields=() if before is None else _changes(each, before, after),
        reason=" ".join(
            [
                "The name is wanted and free." if old is None else f"The name replaces {old.address}.",
                *releases.why_free(live.reclaims.get(Name(domain.domain, verdict.key)), continues),
            ]
        ),
        risk=Risk.LOW if old is None else Risk.HIGH,
        price=price,
        resource_id=None if old is None else old.id,
        version=None if old is None else old.version,
        place=Place(
            domain=domain.domain,
            local_part=verdict.normalized,
            key=verdict.key,
            skeleton=verdict.skeleton,
            is_own=each.is_own,
        ),
        after_unknown=_unknown(each),
        requires=_requires(each),
        continues=continues,
        undoable_until=None if old is None else releases.undoable_until(old, live),
    )


def keep(manifest: Manifest, each: Judged, mine: Alias, old: Alias | None) -> Action | Finding:
    """Changes a name that the account has, if need be, or says why this manifest may not.

    `old` is what the key stood for when the manifest has that no more.
    """
    if _is_idle(manifest, each, mine):
        return _change(each, mine, ActionKind.NO_OP, (), "It is suspended, and left as it is.")
    if mine.status is AliasStatus.SUSPENDED:
        return Finding(code="alias_suspended", address=each.address, message="This name is suspended.")
    if old is not None:
        message = f"The key stood for {old.address}, and the account has {mine.address} already: take a new key."
        return Finding(code="key_in_use", address=each.address, message=message)
    changed = _changes(each, view(mine), _wanted(each))
    if mine.manifest == manifest.name:
        kind = ActionKind.UPDATE if changed else ActionKind.NO_OP
        return _change(
            each, mine, kind, changed, f"Changes {', '.join(changed)}." if changed else "It is as wanted."
        )
    if manifest.on_conflict is OnConflict.ADOPT:
        changed = ("manifest", *changed)
        return _change(each, mine, ActionKind.ADOPT, changed, "This manifest takes over the name.")
    holder = f"the manifest {mine.manifest!r}" if mine.manifest else "no manifest"
    return Finding(
        code="alias_exists",
        address=each.address,
        message=f"The account has this name already, managed by {holder}. To take it over: on_conflict adopt.",
    )


def delete(alias: Alias, live: Live) -> Action:
    """Gives up a name that the manifest has no more."""
    return Action(
        address=f"alias.{alias.manifest_key}",
        kind=Kind.ALIAS,
        action=ActionKind.DELETE,
        before=view(alias),
        after=None,
        changed_fields=(),
        reason="It is no longer in the manifest, which prunes.",
        risk=Risk.HIGH,
        price=None,
        resource_id=alias.id,
        version=alias.version,
        undoable_until=releases.undoable_until(alias, live),
    )


def left_alone(alias: Alias) -> Finding:
    """Say that a name which the manifest has no more is not released."""
    why = "the operator suspended it: it stays." if alias.is_blocked else "without prune it stays."
    return Finding(
        code="alias_suspended" if alias.is_blocked else "left_alone",
        address=f"alias.{alias.manifest_key}",
        message=f"{alias.address} is no longer in the manifest; {why}",
    )


def cautions(manifest: Manifest, wishes: Sequence[Judged]) -> Iterator[Finding]:
    """Says which names do not do what the manifest wants."""
    for each in wishes:
        if each.mine is not None and _is_idle(manifest, each, each.mine):
            message = f"{each.mine.address} is suspended; nothing of it is changed until that is over."
            yield Finding(code="alias_suspended", address=each.address, message=message)


def _is_idle(manifest: Manifest, each: Judged, mine: Alias) -> bool:
    """Whether a name is suspended where it was; that must not block the rest of the manifest."""
    key = (manifest.name, each.wish.key)
    return mine.status is AliasStatus.SUSPENDED and (mine.manifest, mine.manifest_key) == key


def view(alias: Alias) -> AliasView:
    """An alias as it is now."""
    return AliasView(
        address=alias.address,
        key=alias.manifest_key or "",
        destinations=tuple(alias.destinations),
        enabled=alias.enabled,
        note=alias.note,
        labels=dict(alias.labels),
        project_id=alias.project_id,
    )


def _wanted(each: Judged) -> AliasView:
    """An alias as wanted. The order of destinations says nothing, so another order of the same is no change."""
    mine, destinations = each.mine, each.wish.destinations
    if mine is not None and set(mine.destinations) == set(destinations):
        destinations = tuple(mine.destinations)
    return AliasView(
        address=each.normal,
        key=each.wish.key,
        destinations=destinations,
        enabled=each.wish.enabled,
        note=each.wish.note,
        labels=each.wish.labels,
        project_id=each.home.project_id if each.home else None,
    )


def _changes(each: Judged, before: AliasView, after: AliasView) -> tuple[str, ...]:
    changed = changes(before, after)
    return changed if "project_id" in changed else (*changed, *_unknown(each))


def _unknown(each: Judged) -> tuple[str, ...]:
    return each.home.after_unknown if each.home else ()


def _requires(each: Judged) -> tuple[str, ...]:
    return tuple(address for address in (each.home and each.home.address, each.domain_address) if address)


def _change(each: Judged, mine: Alias, kind: ActionKind, changed: tuple[str, ...], reason: str) -> Action:
    risk = Risk.MEDIUM if {"destinations", "enabled", "project_id"} & set(changed) else Risk.LOW
    return Action(
        address=each.address,
        kind=Kind.ALIAS,
        action=kind,
        before=view(mine),
        after=_wanted(each) if changed else view(mine),
        changed_fields=changed,
        reason=reason,
        risk=risk,
        price=None,
        resource_id=mine.id,
        version=mine.version,
        after_unknown=_unknown(each) if changed else (),
        requires=_requires(each) if changed else (),
    )
