"""Settings of account domains in a manifest: the diff (pure) and the execution. No domain is added or deleted."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from builders.domains import account_domains
from builders.domains.records import SENSITIVE_SETTINGS, AccountDomain, DomainChange, DomainSettings
from builders.kit.db.connections import Conn
from builders.kit.values import domain_names
from builders.plans.records import Action, DomainView, Finding, Kind, Manifest, OnConflict, Risk, StepError
from builders.plans.resources.kinds import Batch, Executor, KindDiff, ManagedKind
from builders.plans.resources.live_state import LiveState

DOMAIN: ManagedKind[AccountDomain] = ManagedKind(
    kind=Kind.DOMAIN,
    view=lambda each: DomainView(key=each.manifest_key or "", domain=each.domain, **each.settings()),
    describe=lambda each: each.domain,
    sensitive=SENSITIVE_SETTINGS,
    consequence="Its settings are cleared; the account keeps the domain.",
    risk=Risk.MEDIUM,
    changed=StepError(
        code="domain_changed", message="The domain was changed, suspended or released in the meantime."
    ),
    key_in_use=StepError(code="key_in_use", message="The key now belongs to another domain."),
)


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
            after = replace(desired, domain=existing.domain)
            planned.append(DOMAIN.change(existing, after, is_adopted=existing.manifest != manifest.name))
        else:
            errors.append(DOMAIN.conflict(desired.key, existing.domain, existing.manifest))
    left = [each for each in managed.values() if each.domain not in counts]
    return DOMAIN.diff(manifest, planned, errors, left)


def _find_error(
    desired: DomainView,
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
        message = f"The key belonged to {former.domain}, not to {label}: use a new key."
        return Finding(code="key_in_use", address=address, message=message)
    return None


def drift(manifest: str, actions: Sequence[Action], live: LiveState) -> Iterator[Finding]:
    """Yield the changes since the plan was made."""
    return DOMAIN.list_drift(manifest, actions, live.own.values())


async def execute(conn: Conn, batch: Batch) -> None:
    """Execute a batch of one action, all tasks or none. Raise one of the refusals."""
    changes = []
    for action in [task.action for task in batch.tasks]:
        view = action.after if isinstance(action.after, DomainView) else None
        if action.resource_id and action.version:
            change = DomainChange(
                id=action.resource_id,
                version=action.version,
                manifest=batch.manifest if view else None,
                manifest_key=view.key if view else None,
                **(view or DomainSettings()).settings(),
            )
            changes.append(change)
    await account_domains.update_many(conn, account_id=batch.target.account_id, changes=changes)


EXECUTOR = Executor(drift, execute, DOMAIN.faults())
