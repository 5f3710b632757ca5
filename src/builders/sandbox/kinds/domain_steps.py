"""Promoting the settings of account domains."""

from collections.abc import Iterator, Sequence

from builders.domains import service as domains
from builders.domains.records import DomainChange
from builders.kit.db.connections import Conn
from builders.sandbox.error_codes import StepError
from builders.sandbox.kinds.live import Live
from builders.sandbox.kinds.work import Doer, Task, Work
from builders.sandbox.records import Action, Finding
from builders.sandbox.views import DomainView

CHANGED = "The domain was changed, suspended or released in the meantime."
KEY_IN_USE = "The key stands for another domain by now."


def drift(manifest: str, actions: Sequence[Action], live: Live) -> Iterator[Finding]:
    """Where the live state is no longer what was planned on."""
    by_id = {each.id: each for each in live.own.values()}
    planned = {action.resource_id for action in actions}
    keys = {each.manifest_key for each in by_id.values() if each.manifest == manifest and each.id not in planned}
    for action in actions:
        there = None if action.resource_id is None else by_id.get(action.resource_id)
        if there is None or there.version != action.version:
            yield Finding(code="domain_changed", address=action.address, message=CHANGED)
        elif action.after is not None and action.after.key in keys:
            yield Finding(code="key_in_use", address=action.address, message=KEY_IN_USE)


async def execute(conn: Conn, work: Work) -> None:
    """Does a batch of actions of one sort, all or none. Raises one of the refusals."""
    changes = [each for task in work.tasks for each in _changes(task, work.manifest)]
    await domains.update_many(conn, account_id=work.ground.account_id, changes=changes)


def fault(manifest: str, task: Task, refusal: Exception) -> StepError | None:
    """What a refusal of the batch says of this task."""
    match refusal:
        case domains.DomainsChanged():
            if task.action.resource_id in refusal.ids:
                return StepError(code="domain_changed", message=CHANGED)
        case domains.KeysTaken():
            if task.action.after is not None and (manifest, task.action.after.key) in refusal.keys:
                return StepError(code="key_in_use", message=KEY_IN_USE)
    return None


def _changes(task: Task, manifest: str) -> Iterator[DomainChange]:
    action, after = task.action, task.action.after
    if action.resource_id and action.version:
        view = after if isinstance(after, DomainView) else None
        yield DomainChange(
            id=action.resource_id,
            version=action.version,
            catch_all=view is not None and view.catch_all,
            default_destination=view.default_destination if view else None,
            manifest=manifest if view else None,
            manifest_key=view.key if view else None,
        )


DOER = Doer(drift=drift, execute=execute, fault=fault, refusals=(domains.DomainsChanged, domains.KeysTaken))
