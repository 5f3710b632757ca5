"""Settings of account domains in a manifest: the diff (pure) and the execution. No domain is added or deleted."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from builders.domains import bulk
from builders.domains.errors import DomainsChanged, KeysTaken
from builders.domains.records import SENSITIVE_SETTINGS, AccountDomain, DomainChange, DomainSettings
from builders.kit.db.connections import Conn
from builders.kit.values import domain_names
from builders.sandbox.manifest import DesiredDomain, DomainView, Manifest, OnConflict
from builders.sandbox.records import Action, Finding, Kind, Risk
from builders.sandbox.resources import kinds
from builders.sandbox.resources.kinds import Batch, Executor, KindDiff, Task
from builders.sandbox.resources.live_state import LiveState
from builders.sandbox.step_errors import StepError

CHANGED = "The domain was changed, suspended or released in the meantime."
KEY_IN_USE = "The key now belongs to another domain."


def diff(manifest: Manifest, live: LiveState) -> KindDiff:
    """Return the actions on domains. A domain that no manifest manages is adopted without on_conflict."""
    managed = {each.manifest_key: each for each in live.own.values() if each.manifest == manifest.name}
    labels = {
        desired.key: domain_names.find_a_label(desired.domain) or desired.domain for desired in manifest.domains
    }
    counts = Counter(labels.values())
    planned: list[Action] = []
    errors: list[Finding] = []
    for desired in manifest.domains:
        label = labels[desired.key]
        existing, former = live.own.get(label), managed.get(desired.key)
        if found := _find_error(desired, label, existing, former, counts):
            errors.append(found)
            continue
        assert existing is not None  # noqa: S101 - or there is an error
        if existing.manifest in {None, manifest.name} or manifest.on_conflict is OnConflict.ADOPT:
            planned.append(_change(desired, existing, manifest.name))
        else:
            errors.append(kinds.conflict(Kind.DOMAIN, desired.key, existing.domain, existing.manifest))
    left = [each for each in managed.values() if each.domain not in counts]
    return KindDiff.of(manifest, planned, errors, left, delete=_delete, left_alone=_left_alone)


def _find_error(
    desired: DesiredDomain,
    label: str,
    existing: AccountDomain | None,
    former: AccountDomain | None,
    counts: Mapping[str, int],
) -> Finding | None:
    address = f"{Kind.DOMAIN}.{desired.key}"
    if existing is None:
        message = "The account has no such domain, or it is not live: GET /v1/domains lists them."
        return Finding(code="domain_not_found", address=address, message=message)
    if counts[label] > 1:
        return Finding(
            code="duplicate_domain", address=address, message="Another resource of the manifest has this domain."
        )
    if desired.catch_all and desired.default_destination is None:
        message = "A catch-all domain requires a default_destination."
        return Finding(code="destination_missing", address=address, message=message)
    if former is not None and former.domain != label and former.domain not in counts:
        return kinds.key_in_use_error(Kind.DOMAIN, desired.key, former.domain, label)
    return None


def view(domain: AccountDomain) -> DomainView:
    """Return the current settings."""
    return DomainView(key=domain.manifest_key or "", domain=domain.domain, **domain.settings())


def _change(desired: DesiredDomain, existing: AccountDomain, manifest: str) -> Action:
    after = DomainView(key=desired.key, domain=existing.domain, **desired.settings())
    is_adopted = existing.manifest != manifest
    return kinds.change(
        Kind.DOMAIN, existing, view(existing), after, sensitive=SENSITIVE_SETTINGS, is_adopted=is_adopted
    )


def _left_alone(domain: AccountDomain) -> Finding:
    return kinds.left_alone_warning(Kind.DOMAIN, domain.manifest_key, domain.domain)


def _delete(domain: AccountDomain) -> Action:
    consequence = "Its settings are cleared; the account keeps the domain."
    return kinds.delete(Kind.DOMAIN, domain, view(domain), consequence=consequence, risk=Risk.MEDIUM)


def drift(manifest: str, actions: Sequence[Action], live: LiveState) -> Iterator[Finding]:
    """Yield the changes since the plan was made."""
    by_id = {each.id: each for each in live.own.values()}
    planned = {action.resource_id for action in actions}
    keys = {each.manifest_key for each in by_id.values() if each.manifest == manifest and each.id not in planned}
    for action in actions:
        existing = None if action.resource_id is None else by_id.get(action.resource_id)
        if existing is None or existing.version != action.version:
            yield Finding(code="domain_changed", address=action.address, message=CHANGED)
        elif action.after is not None and action.after.key in keys:
            yield Finding(code="key_in_use", address=action.address, message=KEY_IN_USE)


async def execute(conn: Conn, batch: Batch) -> None:
    """Execute a batch of one action, all tasks or none. Raise one of the refusals."""
    changes = [each for task in batch.tasks for each in _changes(task, batch.manifest)]
    await bulk.update_many(conn, account_id=batch.target.account_id, changes=changes)


def fault(manifest: str, task: Task, refusal: Exception) -> StepError | None:
    """Return the error of this task after a refusal of the batch, or None."""
    match refusal:
        case DomainsChanged():
            if task.action.resource_id in refusal.ids:
                return StepError(code="domain_changed", message=CHANGED)
        case KeysTaken():
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
            manifest=manifest if view else None,
            manifest_key=view.key if view else None,
            **(view or DomainSettings()).settings(),
        )


EXECUTOR = Executor(drift=drift, execute=execute, fault=fault, refusals=(DomainsChanged, KeysTaken))
