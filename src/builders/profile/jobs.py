"""Jobs of the profile: record steps of onboarding from events, send first links, prune."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from uuid import UUID

from procrastinate import JobContext

from builders.identity.records import Preset
from builders.kit.db.connections import Conn
from builders.kit.events import dispatcher
from builders.kit.events.dispatcher import PublishedEvent
from builders.kit.jobs import queue
from builders.profile import onboarding, verification
from builders.profile.records import Proof, Role, StepKey

# The step of onboarding that an event proves, and the role that it implies. The packages that publish these events
# do not depend on onboarding.
PROOFS: Mapping[str, tuple[StepKey, Role | None]] = {
    "account.created": (StepKey.VERIFY_EMAIL, None),
    "api_key.created": (StepKey.CREATE_API_KEY, None),  # the preset of the key implies the role
    "email.verified": (StepKey.VERIFY_EMAIL, None),
    "project.created": (StepKey.CREATE_PROJECT, Role.BUILDER),
    "plan.created": (StepKey.FIRST_PLAN, Role.BUILDER),
    "promotion.completed": (StepKey.FIRST_PROMOTE, Role.BUILDER),
    "portfolio.domain.added": (StepKey.ADD_DOMAIN, Role.DOMAINER),
    "portfolio.import.completed": (StepKey.ADD_DOMAIN, Role.DOMAINER),
    "portfolio.registrar.connected": (StepKey.CONNECT_REGISTRAR, Role.DOMAINER),
}


@dispatcher.subscribe_batches(name="profile.find_steps")
async def find_steps(conn: Conn, events: Sequence[PublishedEvent]) -> None:
    """Enqueue a job for each step that the events prove and that the account has not done yet."""
    proofs = [proof for each in events if (proof := _find_proof(each))]
    jobs = [
        {"account_id": str(each.account_id), "step": each.step, "at": each.at.isoformat(), "role": each.role or ""}
        for each in await onboarding.list_new(conn, proofs=proofs)
    ]
    await queue.defer_each(conn, record_step, jobs)


def _find_proof(event: PublishedEvent) -> Proof | None:
    """Return the step that an event proves."""
    if event.name not in PROOFS:
        return None
    data, (step, role) = event.read(), PROOFS[event.name]
    match event.name:
        case "account.created" if not data["verified"]:
            return None
        case "plan.created" if data["status"] == "blocked":  # a plan with errors does not count
            return None
        case "portfolio.import.completed" if not data["created"] + data["updated"] + data["unchanged"]:
            return None
        case "api_key.created":
            role = onboarding.ROLES[Preset(data["preset"])]
    return Proof(account_id=event.account_id, step=step, at=event.created_at, role=role)


@queue.app.task(name="profile.record_step", retry=queue.RETRY, pass_context=True)
async def record_step(context: JobContext, account_id: str, step: str, at: str, role: str) -> None:
    """Record a step of onboarding."""
    async with queue.database(context).transaction() as conn:
        await onboarding.record_step(
            conn,
            account_id=UUID(account_id),
            step=StepKey(step),
            at=datetime.fromisoformat(at),
            role=Role(role) if role else None,
        )


@dispatcher.subscribe("account.created", name="profile.request_verification")
async def request_verification(conn: Conn, event: PublishedEvent) -> None:
    """Enqueue the first verification message to an unverified account."""
    if not event.read()["verified"]:
        account_id = str(event.account_id)
        await queue.defer(conn, begin_verification, once=f"profile.verify {account_id}", account_id=account_id)


@queue.app.task(name="profile.begin_verification", retry=queue.RETRY, pass_context=True)
async def begin_verification(context: JobContext, account_id: str) -> None:
    """Send the first link to a new account."""
    async with queue.database(context).transaction() as conn:
        await verification.begin_verification(
            conn, keyring=queue.keyring(context), settings=queue.settings(context), account_id=UUID(account_id)
        )
