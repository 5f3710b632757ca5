"""Planning webhook destinations. Pure: their URLs are judged before."""

from collections.abc import Iterator, Mapping, Sequence
from uuid import UUID

from builders.sandbox.kinds import findings
from builders.sandbox.kinds.drafted import Drafted
from builders.sandbox.kinds.live import Live
from builders.sandbox.records import Action, ActionKind, Finding, Kind, Risk, Secret
from builders.sandbox.views import WebhookView, changes
from builders.sandbox.wishes import GENERATE, Manifest, OnConflict, WebhookWish
from builders.webhooks import service as webhooks
from builders.webhooks.service import ManagedDestination


def draft(manifest: Manifest, live: Live) -> Drafted:
    """The actions on destinations; one is known by its key, and by its URL when it is not this manifest's."""
    managed = {each.manifest_key: each for each in live.webhooks if each.manifest == manifest.name}
    wanted = {wish.key for wish in manifest.webhooks}
    taken = {each.id for key, each in managed.items() if key in wanted}
    planned: list[Action] = []
    errors: list[Finding] = []
    kept: set[UUID] = set()
    for wish in manifest.webhooks:
        if wrong := list(_wrong(wish, live)):
            errors += wrong
            continue
        mine = managed.get(wish.key)
        others = [each for each in live.webhooks if each.url == wish.url and each.id not in taken]
        other = next((each for each in others if each.id not in kept), None) if mine is None else None
        if mine is None and other is not None and other.manifest == manifest.name:
            mine, other = other, None  # under another key
        if mine is not None:
            kept.add(mine.id)
            planned.append(_keep(wish, mine))
        elif other is None:
            secret = _secret(manifest, wish, live)
            if isinstance(secret, Secret):
                planned.append(_create(wish, secret))
            else:
                errors.append(secret)
        elif manifest.on_conflict is OnConflict.ADOPT:
            kept.add(other.id)
            planned.append(_adopt(wish, other))
        else:
            errors.append(findings.exists(Kind.WEBHOOK, wish.key, "a destination with this URL", other.manifest))
    left = [each for key, each in managed.items() if key not in wanted and each.id not in kept]
    return Drafted.of(
        manifest,
        planned,
        (*errors, *_too_many(planned, len(live.webhooks))),
        left,
        delete=_delete,
        left_alone=_left_alone,
    )


def _wrong(wish: WebhookWish, live: Live) -> Iterator[Finding]:
    address = f"{Kind.WEBHOOK}.{wish.key}"
    if wish.url in live.refused_urls:
        yield Finding(code="url_not_allowed", address=address, message=live.refused_urls[wish.url])
    for message in webhooks.validate_events(wish.events):
        yield Finding(code="event_unknown", address=address, message=message)


def _too_many(planned: Sequence[Action], there: int) -> Iterator[Finding]:
    """Those beyond what an account may have; what is deleted is deleted last, and makes no room before."""
    made = [action for action in planned if action.action is ActionKind.CREATE]
    for action in made[max(0, webhooks.MAX_DESTINATIONS - there) :]:
        most = webhooks.MAX_DESTINATIONS
        message = f"An account has up to {most} webhook destinations; what is deleted is deleted last."
        yield Finding(code="webhook_limit", address=action.address, message=message)


def _secret(manifest: Manifest, wish: WebhookWish, live: Live) -> Secret | Finding:
    """Where the secret comes from. What names nothing is not repeated: it may be a secret by mistake."""
    reference, address = wish.signing_secret_ref, f"{Kind.WEBHOOK}.{wish.key}"
    if reference == GENERATE:
        return Secret()
    managed = {each.manifest_key: each.id for each in live.webhooks if each.manifest == manifest.name}
    if reference in managed:
        return Secret(copied_from=managed[reference])
    if reference in (references := {each.key: each.signing_secret_ref for each in manifest.webhooks}):
        if _is_circular(wish.key, references):
            message = "Each of these destinations is to have the secret of another: nobody makes one."
            return Finding(code="secret_ref_circular", address=address, message=message)
        return Secret(copied_from_address=f"{Kind.WEBHOOK}.{reference}")
    labelled = [each.id for each in live.webhooks if each.label == reference]
    if len(labelled) == 1:
        return Secret(copied_from=labelled[0])
    said = "Several destinations have" if labelled else "No destination has"
    message = f"{said} the key or label that signing_secret_ref names. To have a secret made: generate."
    code = "secret_ref_ambiguous" if labelled else "secret_ref_unknown"
    return Finding(code=code, address=address, message=message)


def _is_circular(key: str, references: Mapping[str, str]) -> bool:
    seen: set[str] = set()
    while key in references and key not in seen:
        seen.add(key)
        key = references[key]
    return key in seen


def view(destination: ManagedDestination) -> WebhookView:
    """A destination as it is now."""
    return WebhookView(
        key=destination.manifest_key or "",
        label=destination.label,
        url=destination.url,
        enabled=destination.enabled,
        events=tuple(destination.events),
    )


def _wanted(wish: WebhookWish, mine: ManagedDestination | None = None) -> WebhookView:
    """As wanted; the order of events says nothing."""
    same = mine is not None and set(mine.events) == set(wish.events)
    events = tuple(mine.events) if mine is not None and same else tuple(dict.fromkeys(wish.events))
    return WebhookView(key=wish.key, label=wish.label, url=wish.url, enabled=wish.enabled, events=events)


def _create(wish: WebhookWish, secret: Secret) -> Action:
    source = secret.copied_from_address
    return Action(
        address=f"webhook.{wish.key}",
        kind=Kind.WEBHOOK,
        action=ActionKind.CREATE,
        before=None,
        after=_wanted(wish),
        changed_fields=(),
        reason="The destination is wanted, and is not there.",
        risk=Risk.LOW,
        price=None,
        resource_id=None,
        version=None,
        after_unknown=("id", "signing_secret"),
        requires=(source,) if source else (),
        secret=secret,
    )


def _keep(wish: WebhookWish, mine: ManagedDestination) -> Action:
    before, after = view(mine), _wanted(wish, mine)
    changed = changes(before, after)
    return _change(mine, ActionKind.UPDATE if changed else ActionKind.NO_OP, before, after, changed)


def _adopt(wish: WebhookWish, other: ManagedDestination) -> Action:
    before, after = view(other), _wanted(wish, other)
    return _change(other, ActionKind.ADOPT, before, after, ("manifest", *changes(before, after)))


def _change(
    mine: ManagedDestination, kind: ActionKind, before: WebhookView, after: WebhookView, changed: tuple[str, ...]
) -> Action:
    return Action(
        address=f"webhook.{after.key}",
        kind=Kind.WEBHOOK,
        action=kind,
        before=before,
        after=after,
        changed_fields=changed,
        reason=findings.ADOPTED if kind is ActionKind.ADOPT else findings.as_wanted(changed),
        risk=Risk.MEDIUM if {"url", "enabled", "events"} & set(changed) else Risk.LOW,
        price=None,
        resource_id=mine.id,
        version=mine.version,
    )


def _left_alone(destination: ManagedDestination) -> Finding:
    return findings.left_alone(Kind.WEBHOOK, destination.manifest_key, f"The webhook {destination.label!r}")


def _delete(destination: ManagedDestination) -> Action:
    return Action(
        address=f"webhook.{destination.manifest_key}",
        kind=Kind.WEBHOOK,
        action=ActionKind.DELETE,
        before=view(destination),
        after=None,
        changed_fields=(),
        reason=f"{findings.PRUNED} What is pending for it is cancelled.",
        risk=Risk.HIGH,
        price=None,
        resource_id=destination.id,
        version=destination.version,
    )
