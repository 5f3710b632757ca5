"""Webhook destinations in a manifest: the diff (pure; URLs are validated before) and the execution."""

from collections.abc import Iterator, Mapping, Sequence
from uuid import UUID

from builders.kit.db.connections import Conn
from builders.plans.records import (
    GENERATE,
    Action,
    ActionKind,
    DesiredWebhook,
    Finding,
    Kind,
    Manifest,
    OnConflict,
    Risk,
    Secret,
    StepError,
    WebhookView,
)
from builders.plans.resources import kinds
from builders.plans.resources.kinds import Batch, Executor, KindDiff, ManagedKind
from builders.plans.resources.live_state import LiveState
from builders.webhooks import destinations
from builders.webhooks.destinations import MAX_DESTINATIONS
from builders.webhooks.errors import SecretsGone, WebhookLimit
from builders.webhooks.records import DestinationSpec, ManagedDestination

WEBHOOK: ManagedKind[ManagedDestination] = ManagedKind(
    kind=Kind.WEBHOOK,
    view=lambda each: WebhookView(
        key=each.manifest_key or "",
        label=each.label,
        url=each.url,
        enabled=each.enabled,
        events=list(each.events),
    ),
    describe=lambda each: f"The webhook {each.label!r}",
    sensitive=frozenset({"url", "enabled", "events"}),
    consequence="Its pending deliveries are cancelled.",
    risk=Risk.HIGH,
    changed=StepError(
        code="webhook_changed", message="The webhook destination was changed or deleted in the meantime."
    ),
    key_in_use=StepError(code="key_in_use", message="The key now belongs to another webhook destination."),
)
LIMIT = StepError(code="webhook_limit", message="The account has its maximum number of webhook destinations.")
SECRET_GONE = StepError(
    code="secret_ref_unknown", message="The destination with the secret to copy no longer exists."
)


def diff(manifest: Manifest, live: LiveState) -> KindDiff:
    """Return the actions on destinations. A key identifies one, or the URL if this manifest does not manage it."""
    managed = {each.manifest_key: each for each in live.webhooks if each.manifest == manifest.name}
    wanted = {desired.key for desired in manifest.webhooks}
    taken = {each.id for key, each in managed.items() if key in wanted}
    planned: list[Action] = []
    errors: list[Finding] = []
    kept: set[UUID] = set()
    for desired in manifest.webhooks:
        if found := list(_list_errors(desired, live)):
            errors += found
            continue
        mine = managed.get(desired.key)
        others = [each for each in live.webhooks if each.url == desired.url and each.id not in taken]
        other = next((each for each in others if each.id not in kept), None) if mine is None else None
        if mine is None and other is not None and other.manifest == manifest.name:
            mine, other = other, None  # under another key
        if mine is not None:
            kept.add(mine.id)
            planned.append(WEBHOOK.change(mine, _desired_view(desired, mine)))
        elif other is None:
            secret = _secret(manifest, desired, live)
            if isinstance(secret, Secret):
                planned.append(_create(desired, secret))
            else:
                errors.append(secret)
        elif manifest.on_conflict is OnConflict.ADOPT:
            kept.add(other.id)
            planned.append(WEBHOOK.change(other, _desired_view(desired, other), is_adopted=True))
        else:
            errors.append(WEBHOOK.conflict(desired.key, "a destination with this URL", other.manifest))
    left = [each for key, each in managed.items() if key not in wanted and each.id not in kept]
    return WEBHOOK.diff(manifest, planned, (*errors, *_list_excess(planned, len(live.webhooks))), left)


def _list_errors(desired: DesiredWebhook, live: LiveState) -> Iterator[Finding]:
    address = f"{Kind.WEBHOOK}.{desired.key}"
    if desired.url in live.refused_urls:
        yield Finding(code="url_not_allowed", address=address, message=live.refused_urls[desired.url])
    for message in destinations.validate_events(desired.events):
        yield Finding(code="event_unknown", address=address, message=message)


def _list_excess(planned: Sequence[Action], existing: int) -> Iterator[Finding]:
    """Yield errors for destinations above the limit of an account."""
    created = [action for action in planned if action.action is ActionKind.CREATE]
    for action in created[max(0, MAX_DESTINATIONS - existing) :]:
        message = (
            f"An account has up to {MAX_DESTINATIONS} webhook destinations; "
            "deletions come last and free no capacity."
        )
        yield Finding(code="webhook_limit", address=action.address, message=message)


def _secret(manifest: Manifest, desired: DesiredWebhook, live: LiveState) -> Secret | Finding:
    """Return the source of the secret. Messages omit an unknown reference, which can be a secret by mistake."""
    reference, address = desired.signing_secret_ref, f"{Kind.WEBHOOK}.{desired.key}"
    if reference == GENERATE:
        return Secret()
    managed = {each.manifest_key: each.id for each in live.webhooks if each.manifest == manifest.name}
    if reference in managed:
        return Secret(copied_from=managed[reference])
    if reference in (references := {each.key: each.signing_secret_ref for each in manifest.webhooks}):
        if _is_circular(desired.key, references):
            message = "These destinations copy the secret of each other, and none generates one."
            return Finding(code="secret_ref_circular", address=address, message=message)
        return Secret(copied_from_address=f"{Kind.WEBHOOK}.{reference}")
    labelled = [each.id for each in live.webhooks if each.label == reference]
    if len(labelled) == 1:
        return Secret(copied_from=labelled[0])
    subject = "Several destinations have" if labelled else "No destination has"
    message = f"{subject} the key or label in signing_secret_ref. For a new secret: generate."
    code = "secret_ref_ambiguous" if labelled else "secret_ref_unknown"
    return Finding(code=code, address=address, message=message)


def _is_circular(key: str, references: Mapping[str, str]) -> bool:
    seen: set[str] = set()
    while key in references and key not in seen:
        seen.add(key)
        key = references[key]
    return key in seen


def _desired_view(desired: DesiredWebhook, mine: ManagedDestination | None = None) -> WebhookView:
    """Return the desired state; the order of events has no meaning."""
    same = mine is not None and set(mine.events) == set(desired.events)
    events = list(mine.events if mine is not None and same else dict.fromkeys(desired.events))
    return WebhookView(
        key=desired.key, label=desired.label, url=desired.url, enabled=desired.enabled, events=events
    )


def _create(desired: DesiredWebhook, secret: Secret) -> Action:
    source = secret.copied_from_address
    return Action(
        address=f"webhook.{desired.key}",
        kind=Kind.WEBHOOK,
        action=ActionKind.CREATE,
        after=_desired_view(desired),
        reason="The destination does not exist.",
        risk=Risk.LOW,
        after_unknown=("id", "signing_secret"),
        requires=(source,) if source else (),
        secret=secret,
    )


def drift(manifest: str, actions: Sequence[Action], live: LiveState) -> Iterator[Finding]:
    """Yield the changes since the plan was made."""
    known = {each.id for each in live.webhooks}
    made = sum(action.action is ActionKind.CREATE for action in actions)

    def find_other(action: Action) -> StepError | None:
        if isinstance(action.after, WebhookView) and action.after.url in live.refused_urls:
            return StepError(code="url_not_allowed", message=live.refused_urls[action.after.url])
        if action.secret and action.secret.copied_from and action.secret.copied_from not in known:
            return SECRET_GONE
        if action.action is ActionKind.CREATE and len(known) + made > MAX_DESTINATIONS:
            return LIMIT
        return None

    return WEBHOOK.list_drift(manifest, actions, live.webhooks, find_other)


async def execute(conn: Conn, batch: Batch) -> None:
    """Execute a batch of one action, all tasks or none. Raise one of the refusals."""
    kind, owner = batch.tasks[0].action.action, {"account_id": batch.target.account_id}
    if kind is ActionKind.CREATE:
        specs = [
            DestinationSpec(
                id=task.step.resource_id,
                manifest=batch.manifest,
                manifest_key=after.key,
                **after.settings(),
                secret_from=batch.made.get(secret.copied_from_address or "", secret.copied_from),
            )
            for task in batch.tasks
            if isinstance(after := task.action.after, WebhookView)
            and task.step.resource_id
            and (secret := task.action.secret)
        ]
        await destinations.create_destinations(conn, **owner, keyring=batch.parameters.keyring, specs=specs)
    elif kind is ActionKind.DELETE:
        await destinations.delete_destinations(conn, **owner, versions=kinds.list_versions(batch.tasks))
    else:
        changes = [
            ManagedDestination(
                id=resource_id,
                version=version,
                manifest=batch.manifest,
                manifest_key=after.key,
                **after.settings(),
            )
            for resource_id, version, after in kinds.list_changed(batch.tasks, WebhookView)
        ]
        await destinations.update_destinations(conn, **owner, changes=changes)


EXECUTOR = Executor(
    drift,
    execute,
    {
        **WEBHOOK.faults(),
        SecretsGone: lambda _, task, refusal: SECRET_GONE if task.step.resource_id in refusal.copies else None,
        WebhookLimit: lambda *_: LIMIT,
    },
)
