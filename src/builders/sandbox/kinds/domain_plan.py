"""Planning the settings of account domains. Pure: a manifest makes no domain and takes none away."""

from collections import Counter
from collections.abc import Mapping, Sequence

from builders.catalog import service as catalog
from builders.domains.records import AccountDomain
from builders.sandbox.kinds import findings
from builders.sandbox.kinds.drafted import Drafted
from builders.sandbox.kinds.live import Live
from builders.sandbox.records import Action, ActionKind, Finding, Kind, Risk
from builders.sandbox.views import DomainView, changes
from builders.sandbox.wishes import DomainWish, Manifest, OnConflict


def draft(manifest: Manifest, live: Live) -> Drafted:
    """The actions on domains; one that no manifest manages is taken over unasked, since it cannot be made."""
    managed = {each.manifest_key: each for each in live.own.values() if each.manifest == manifest.name}
    labels = {wish.key: catalog.find_a_label(wish.domain) or wish.domain for wish in manifest.domains}
    times = Counter(labels.values())
    planned: list[Action] = []
    errors: list[Finding] = []
    for wish in manifest.domains:
        label = labels[wish.key]
        there, old = live.own.get(label), managed.get(wish.key)
        if found := _wrong(wish, label, there, old, times):
            errors.append(found)
            continue
        assert there is not None  # noqa: S101 - or it would be wrong
        if there.manifest in {None, manifest.name} or manifest.on_conflict is OnConflict.ADOPT:
            planned.append(_settle(wish, there, manifest.name))
        else:
            errors.append(findings.exists(Kind.DOMAIN, wish.key, there.domain, there.manifest))
    left = [each for each in managed.values() if each.domain not in times]
    return Drafted.of(manifest, planned, errors, left, delete=_clear, left_alone=_left_alone)


def views(planned: Sequence[Action]) -> dict[str, DomainView]:
    """The settings that the actions lead to, by address."""
    return {each.address: each.after for each in planned if isinstance(each.after, DomainView)}


def catch_all(planned: Sequence[Action]) -> dict[str, bool]:
    """Which domains (A-labels) the plan makes catch-all, and which not."""
    return {view.domain: view.catch_all for view in views(planned).values()}


def _wrong(
    wish: DomainWish,
    label: str,
    there: AccountDomain | None,
    old: AccountDomain | None,
    times: Mapping[str, int],
) -> Finding | None:
    address = f"{Kind.DOMAIN}.{wish.key}"
    if there is None:
        message = "The account has no such domain, or it is not live: GET /v1/domains lists them."
        return Finding(code="domain_not_found", address=address, message=message)
    if times[label] > 1:
        return Finding(code="duplicate_domain", address=address, message="Another key here has this domain.")
    if wish.catch_all and wish.default_destination is None:
        message = "A catch-all domain needs a default_destination."
        return Finding(code="destination_missing", address=address, message=message)
    if old is not None and old.domain != label and old.domain not in times:
        return findings.key_in_use(Kind.DOMAIN, wish.key, old.domain, label)
    return None


def view(domain: AccountDomain) -> DomainView:
    """The settings as they are now."""
    return DomainView(
        key=domain.manifest_key or "",
        domain=domain.domain,
        default_destination=domain.default_destination,
        catch_all=domain.catch_all,
    )


def _settle(wish: DomainWish, there: AccountDomain, manifest: str) -> Action:
    before = view(there)
    after = DomainView(
        key=wish.key,
        domain=there.domain,
        default_destination=wish.default_destination,
        catch_all=wish.catch_all,
    )
    changed = changes(before, after)
    kind = ActionKind.UPDATE if changed else ActionKind.NO_OP
    if there.manifest != manifest:
        kind, changed = ActionKind.ADOPT, ("manifest", *changed)
    return Action(
        address=f"domain.{wish.key}",
        kind=Kind.DOMAIN,
        action=kind,
        before=before,
        after=after,
        changed_fields=changed,
        reason=findings.ADOPTED if kind is ActionKind.ADOPT else findings.as_wanted(changed),
        risk=Risk.MEDIUM if {"catch_all", "default_destination"} & set(changed) else Risk.LOW,
        price=None,
        resource_id=there.id,
        version=there.version,
    )


def _left_alone(domain: AccountDomain) -> Finding:
    return findings.left_alone(Kind.DOMAIN, domain.manifest_key, domain.domain)


def _clear(domain: AccountDomain) -> Action:
    return Action(
        address=f"domain.{domain.manifest_key}",
        kind=Kind.DOMAIN,
        action=ActionKind.DELETE,
        before=view(domain),
        after=None,
        changed_fields=(),
        reason=f"{findings.PRUNED} Its settings are cleared; the domain stays the account's.",
        risk=Risk.MEDIUM,
        price=None,
        resource_id=domain.id,
        version=domain.version,
    )
