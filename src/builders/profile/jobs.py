"""Jobs of the profile: record steps of onboarding from events, send first links, prune."""

from collections.abc import Mapping
from uuid import UUID

from procrastinate import JobContext

from builders.identity.records import Preset
from builders.kit.db.connections import Conn
from builders.kit.events import dispatcher
from builders.kit.events.dispatcher import PublishedEvent
from builders.kit.jobs import queue
from builders.profile import onboarding, verification
from builders.profile.records import Proof, Role, StepKey

# The packages that publish these events do not depend on onboarding.
PROOFS: Mapping[str, Proof] = {
    "email.verified": Proof(StepKey.VERIFY_EMAIL),
    "project.created": Proof(StepKey.CREATE_PROJECT, Role.BUILDER),
    "plan.created": Proof(StepKey.FIRST_PLAN, Role.BUILDER),
    "promotion.completed": Proof(StepKey.FIRST_PROMOTE, Role.BUILDER),
    "portfolio.domain.added": Proof(StepKey.ADD_DOMAIN, Role.DOMAINER),
    "portfolio.import.completed": Proof(StepKey.ADD_DOMAIN, Role.DOMAINER),
    "portfolio.registrar.connected": Proof(StepKey.CONNECT_REGISTRAR, Role.DOMAINER),
}


def proof_of(event: PublishedEvent) -> Proof | None:
    """Return the step that an event proves, or None."""
    data = event.read()
    if event.name == "account.created":
        return Proof(StepKey.VERIFY_EMAIL) if data["verified"] else None
    if event.name == "api_key.created":  # its preset implies the role
        return Proof(StepKey.CREATE_API_KEY, onboarding.ROLES[Preset(data["preset"])])
    if event.name == "plan.created" and data["status"] == "blocked":  # a plan with errors does not count
        return None
    if event.name == "portfolio.import.completed" and not data["created"] + data["updated"] + data["unchanged"]:
        return None
    return PROOFS[event.name]


async def record_step(conn: Conn, event: PublishedEvent) -> None:
    """Record the step that an event proves."""
    proof = proof_of(event)
    if proof is not None:
        await onboarding.record_step(
            conn, account_id=event.account_id, step=proof.step, at=event.created_at, role=proof.role
        )


for _name in (*PROOFS, "api_key.created", "account.created"):
    dispatcher.subscribe(_name, name="profile.record_step")(record_step)


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


@queue.app.periodic(cron="23 4 * * *")
@queue.app.task(name="profile.prune", queueing_lock="profile.prune", pass_context=True)
async def prune(context: JobContext, timestamp: int) -> None:
    """Delete old records of verification messages and links."""
    del timestamp
    await verification.prune(queue.database(context))
