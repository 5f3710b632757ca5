"""One action of a plan: what it changes, what it costs, and what must still be true when it is done. Pure."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import fields
from typing import Literal

from builders.aliases.records import Alias, ReservedClass
from builders.sandbox.checks import Judged
from builders.sandbox.records import (
    Action,
    ActionKind,
    AliasView,
    Finding,
    Manifest,
    OnConflict,
    Place,
    Price,
)


def claim(each: Judged, old: Alias | None) -> Action:
    """Claims a free name; gives up the old one when the manifest's key had another."""
    assert each.domain is not None  # noqa: S101 - only what can be had is claimed
    assert each.verdict is not None  # noqa: S101 - as above
    premium = each.verdict.reserved_class is ReservedClass.PREMIUM
    price = each.domain.price_for(each.verdict.key, is_premium=premium)
    after = _wanted(each)
    before = None if old is None else view(old)
    return Action(
        address=each.address,
        action=ActionKind.CREATE if old is None else ActionKind.REPLACE,
        before=before,
        after=after,
        changed_fields=() if before is None else _changes(before, after),
        reason="The name is wanted and free." if old is None else f"The name replaces {old.address}.",
        risk="low" if old is None else "high",
        price=Price(money=price.money, interval=price.interval.value),
        alias_id=None if old is None else old.id,
        version=None if old is None else old.version,
        place=Place(
            domain=each.domain.domain,
            local_part=each.verdict.normalized,
            key=each.verdict.key,
            skeleton=each.verdict.skeleton,
        ),
    )


def keep(manifest: Manifest, each: Judged, mine: Alias) -> Action | Finding:
    """Changes a name that the account has, if need be, or says why this manifest may not."""
    before, after = view(mine), _wanted(each, spelled=mine)
    if mine.status == "suspended":
        return Finding(code="alias_suspended", address=each.address, message="This name is suspended.")
    if mine.manifest == manifest.name:
        changed = _changes(before, after)
        kind = ActionKind.UPDATE if changed else ActionKind.NO_OP
        reason = "It is as wanted." if not changed else f"Changes {', '.join(changed)}."
        return _change(each, mine, kind, changed, reason)
    if manifest.on_conflict is OnConflict.ADOPT:
        changed = ("manifest", *_changes(before, after))
        return _change(each, mine, ActionKind.ADOPT, changed, "This manifest takes over the name.")
    holder = f"the manifest {mine.manifest!r}" if mine.manifest else "no manifest"
    return Finding(
        code="alias_exists",
        address=each.address,
        message=f"The account has this name already, managed by {holder}. Set on_conflict to adopt to take it over.",
    )


def leftovers(
    manifest: Manifest, managed: Sequence[Alias], kept: Collection[Action]
) -> Iterator[Action | Finding]:
    """What the manifest managed and no longer names: deletions with `prune`, else warnings."""
    staying = {action.alias_id for action in kept}
    for alias in managed:
        if alias.id in staying:
            continue
        address = f"alias.{alias.manifest_key}"
        if not manifest.prune:
            yield Finding(
                code="left_alone",
                address=address,
                message=f"{alias.address} is no longer in the manifest; without prune it stays.",
            )
            continue
        yield Action(
            address=address,
            action=ActionKind.DELETE,
            before=view(alias),
            after=None,
            changed_fields=(),
            reason="It is no longer in the manifest, which prunes.",
            risk="high",
            price=None,
            alias_id=alias.id,
            version=alias.version,
            place=None,
        )


def view(alias: Alias) -> AliasView:
    """An alias as it is now."""
    return AliasView(
        address=alias.address,
        key=alias.manifest_key or "",
        destinations=tuple(alias.destinations),
        enabled=alias.enabled,
        note=alias.note,
        labels=dict(alias.labels),
    )


def _wanted(each: Judged, spelled: Alias | None = None) -> AliasView:
    """An alias as wanted; one that is there keeps the spelling it was claimed in."""
    assert each.domain is not None  # noqa: S101 - only what can be had is wanted
    assert each.verdict is not None  # noqa: S101 - as above
    return AliasView(
        address=spelled.address if spelled else f"{each.verdict.normalized}@{each.domain.domain}",
        key=each.wish.key,
        destinations=each.wish.destinations,
        enabled=each.wish.enabled,
        note=each.wish.note,
        labels=each.wish.labels,
    )


def _changes(before: AliasView, after: AliasView) -> tuple[str, ...]:
    names = (each.name for each in fields(AliasView))
    return tuple(name for name in names if getattr(before, name) != getattr(after, name))


def _change(each: Judged, mine: Alias, kind: ActionKind, changed: tuple[str, ...], reason: str) -> Action:
    risk: Literal["low", "medium"] = "medium" if {"destinations", "enabled"} & set(changed) else "low"
    return Action(
        address=each.address,
        action=kind,
        before=view(mine),
        after=_wanted(each, spelled=mine),
        changed_fields=changed,
        reason=reason,
        risk=risk,
        price=None,
        alias_id=mine.id,
        version=mine.version,
        place=None,
    )
