"""Jobs of the profile: record steps of onboarding from events, send first links, prune."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from uuid import UUID

from procrastinate import JobContext

from builders.identity.records import Preset
from builders.kit.db.connections import Conn
from builders.kit.events import dispatcher
from builders.kit.events.dispatcher import PublishedEvent
from builders.kit.jobs import queue
from builders.kit.values import clock, ids
from builders.profile import onboarding, verification
from builders.profile.records import Proof, Role, StepKey

CATCH_UP_PERIOD = timedelta(days=1)  # longer than workers of two versions run concurrently
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


# Stored names of the subscribers.
RECORD_STEP, REQUEST_VERIFICATION = "profile.record_step", "profile.request_verification"
SUBSCRIBED = (*PROOFS, "api_key.created", "account.created")
for _name in SUBSCRIBED:
    dispatcher.subscribe(_name, name=RECORD_STEP, alias="builders.profile.jobs.prove")(record_step)


@dispatcher.subscribe("account.created", name=REQUEST_VERIFICATION, alias="builders.profile.jobs.welcome")
async def request_verification(conn: Conn, event: PublishedEvent) -> None:
    """Enqueue the first verification message to an unverified account."""
    if not event.read()["verified"]:
        account_id = str(event.account_id)
        await queue.defer(conn, begin_verification, once=f"profile.verify {account_id}", account_id=account_id)


@queue.app.periodic(cron="11 * * * *")
@queue.app.task(name="profile.catch_up", queueing_lock="profile.catch_up", pass_context=True)
async def catch_up(context: JobContext, timestamp: int) -> None:
    """Notify the subscribers of recent events that a worker of an earlier version dispatched without them."""
    del timestamp
    since, last = clock.now() - CATCH_UP_PERIOD, ids.NIL
    while True:
        async with queue.database(context).transaction() as conn:
            events = await dispatcher.list_since(conn, names=SUBSCRIBED, since=since, after=last)
            await dispatcher.enqueue_notifications(conn, RECORD_STEP, await _list_unrecorded(conn, events))
            await dispatcher.enqueue_notifications(
                conn, REQUEST_VERIFICATION, [each for each in events if _is_unverified(each)]
            )
        if not events:
            return
        last = events[-1].id


async def _list_unrecorded(conn: Conn, events: Sequence[PublishedEvent]) -> list[PublishedEvent]:
    """Return the events whose step or role the profile of their account lacks."""
    proofs = [(each, proof) for each in events if (proof := proof_of(each)) is not None]
    missing = await onboarding.list_missing(conn, claims=[(each.account_id, proof) for each, proof in proofs])
    return [each for (each, _), is_missing in zip(proofs, missing, strict=True) if is_missing]


def _is_unverified(event: PublishedEvent) -> bool:
    return event.name == "account.created" and not event.read()["verified"]


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
