"""Promoting webhook destinations."""

from collections.abc import Iterator, Sequence

from builders.kit.db.connections import Conn
from builders.sandbox.error_codes import StepError
from builders.sandbox.kinds.live import Live
from builders.sandbox.kinds.work import Doer, Task, Work
from builders.sandbox.records import Action, ActionKind, Finding
from builders.sandbox.views import WebhookView
from builders.webhooks import service as webhooks
from builders.webhooks.service import DestinationChange, DestinationSpec

CHANGED = "The webhook destination was changed or deleted in the meantime."
KEY_IN_USE = "The key stands for another webhook destination by now."
LIMIT = "The account has as many webhook destinations as it may."
SECRET_GONE = "The destination whose secret was to be copied is gone."  # noqa: S105 - says what is wrong


def drift(manifest: str, actions: Sequence[Action], live: Live) -> Iterator[Finding]:
    """Where the live state is no longer what was planned on."""
    by_id = {each.id: each for each in live.webhooks}
    planned = {action.resource_id for action in actions}
    keys = {each.manifest_key for each in live.webhooks if each.manifest == manifest and each.id not in planned}
    made = sum(action.action is ActionKind.CREATE for action in actions)
    for action in actions:
        there = None if action.resource_id is None else by_id.get(action.resource_id)
        if action.resource_id is not None and (there is None or there.version != action.version):
            yield Finding(code="webhook_changed", address=action.address, message=CHANGED)
        elif action.after is not None and action.after.key in keys:
            yield Finding(code="key_in_use", address=action.address, message=KEY_IN_USE)
        elif isinstance(action.after, WebhookView) and action.after.url in live.refused_urls:
            message = live.refused_urls[action.after.url]
            yield Finding(code="url_not_allowed", address=action.address, message=message)
        elif action.secret and action.secret.copied_from and action.secret.copied_from not in by_id:
            yield Finding(code="secret_ref_unknown", address=action.address, message=SECRET_GONE)
        elif action.action is ActionKind.CREATE and len(by_id) + made > webhooks.MAX_DESTINATIONS:
            yield Finding(code="webhook_limit", address=action.address, message=LIMIT)


async def execute(conn: Conn, work: Work) -> None:
    """Does a batch of actions of one sort, all or none. Raises one of the refusals."""
    kind, owner = work.tasks[0].action.action, {"account_id": work.ground.account_id}
    if kind is ActionKind.CREATE:
        specs = [each for task in work.tasks for each in _specs(task, work)]
        await webhooks.create_destinations(conn, **owner, keyring=work.means.keyring, specs=specs)
    elif kind is ActionKind.DELETE:
        versions = {task.action.resource_id: task.action.version for task in work.tasks}
        gone = {each: version for each, version in versions.items() if each and version}
        await webhooks.delete_destinations(conn, **owner, versions=gone)
    else:
        changes = [each for task in work.tasks for each in _changes(task, work.manifest)]
        await webhooks.update_destinations(conn, **owner, changes=changes)


def fault(manifest: str, task: Task, refusal: Exception) -> StepError | None:
    """What a refusal of the batch says of this task."""
    match refusal:
        case webhooks.WebhooksChanged():
            if task.action.resource_id in refusal.changed:
                return StepError(code="webhook_changed", message=CHANGED)
        case webhooks.WebhookKeysTaken():
            if task.action.after is not None and (manifest, task.action.after.key) in refusal.keys:
                return StepError(code="key_in_use", message=KEY_IN_USE)
        case webhooks.SecretsGone():
            if task.resource_id in refusal.copies:
                return StepError(code="secret_ref_unknown", message=SECRET_GONE)
        case webhooks.WebhookLimit():
            return StepError(code="webhook_limit", message=LIMIT)
    return None


def is_secret_made(action: Action) -> bool:
    """Whether it makes a destination with a secret of its own, which is shown once."""
    return action.secret is not None and (action.secret.copied_from or action.secret.copied_from_address) is None


def _specs(task: Task, work: Work) -> Iterator[DestinationSpec]:
    after, secret = task.action.after, task.action.secret
    if isinstance(after, WebhookView) and task.resource_id and secret:
        source = secret.copied_from
        if secret.copied_from_address:
            source = work.made[secret.copied_from_address]
        yield DestinationSpec(
            id=task.resource_id,
            label=after.label,
            url=after.url,
            enabled=after.enabled,
            events=after.events,
            secret_from=source,
            manifest=work.manifest,
            manifest_key=after.key,
        )


def _changes(task: Task, manifest: str) -> Iterator[DestinationChange]:
    action, after = task.action, task.action.after
    if isinstance(after, WebhookView) and action.resource_id and action.version:
        yield DestinationChange(
            id=action.resource_id,
            version=action.version,
            label=after.label,
            url=after.url,
            enabled=after.enabled,
            events=after.events,
            manifest=manifest,
            manifest_key=after.key,
        )


DOER = Doer(
    drift=drift,
    execute=execute,
    fault=fault,
    refusals=(webhooks.WebhooksChanged, webhooks.WebhookKeysTaken, webhooks.SecretsGone, webhooks.WebhookLimit),
)
