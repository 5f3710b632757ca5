"""What the profile does by itself: notes steps of onboarding by the news that proves them, mails first links."""

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
from builders.profile import onboarding, service as profiles
from builders.profile.records import Proof, Role, StepKey

LOOKED_BACK = timedelta(days=1)  # longer than two revisions run side by side
# A package that declares such an event need not know of onboarding.
PROOFS: Mapping[str, Proof] = {
    "email.verified": Proof(StepKey.VERIFY_EMAIL),
    "project.created": Proof(StepKey.CREATE_PROJECT, Role.BUILDER),
    "plan.created": Proof(StepKey.FIRST_PLAN, Role.BUILDER),
    "promotion.completed": Proof(StepKey.FIRST_PROMOTE, Role.BUILDER),
    "portfolio.domain.added": Proof(StepKey.ADD_DOMAIN, Role.DOMAINER),
    "portfolio.import.completed": Proof(StepKey.ADD_DOMAIN, Role.DOMAINER),
    "portfolio.registrar.connected": Proof(StepKey.CONNECT_REGISTRAR, Role.DOMAINER),
}


def proof_of(told: PublishedEvent) -> Proof | None:
    """What an event proves; None for one that proves nothing."""
    said = told.read()
    if told.name == "account.created":
        return Proof(StepKey.VERIFY_EMAIL) if said["verified"] else None
    if told.name == "api_key.created":  # its preset says what the account is here for
        return Proof(StepKey.CREATE_API_KEY, onboarding.ROLES[Preset(said["preset"])])
    if told.name == "plan.created" and said["status"] == "blocked":  # a plan with errors is no plan
        return None
    if told.name == "portfolio.import.completed" and not said["created"] + said["updated"] + said["unchanged"]:
        return None
    return PROOFS[told.name]


async def prove(conn: Conn, told: PublishedEvent) -> None:
    """Notes the step that an event proves."""
    proof = proof_of(told)
    if proof is not None:
        await profiles.note_step(
            conn, account_id=told.account_id, step=proof.step, at=told.created_at, role=proof.role
        )


# Names of subscribers, which jobs hold.
RECORD_STEP, REQUEST_VERIFICATION = "profile.record_step", "profile.request_verification"
HEARD = (*PROOFS, "api_key.created", "account.created")
for _event in HEARD:
    dispatcher.subscribe(_event, name=RECORD_STEP, alias="builders.profile.jobs.prove")(prove)


@dispatcher.subscribe("account.created", name=REQUEST_VERIFICATION, alias="builders.profile.jobs.welcome")
async def welcome(conn: Conn, told: PublishedEvent) -> None:
    """Has the holder of a new account asked to confirm its address."""
    if not told.read()["verified"]:
        account_id = str(told.account_id)
        await queue.defer(conn, begin_verification, once=f"profile.verify {account_id}", account_id=account_id)


@queue.app.periodic(cron="11 * * * *")
@queue.app.task(name="profile.catch_up", queueing_lock="profile.catch_up", pass_context=True)
async def catch_up(context: JobContext, timestamp: int) -> None:
    """Has steps noted whose news was told by a worker of before, which did not know who listens."""
    del timestamp
    since, last = clock.now() - LOOKED_BACK, ids.NIL
    while True:
        async with queue.database(context).transaction() as conn:
            events = await dispatcher.list_since(conn, names=HEARD, since=since, after=last)
            await dispatcher.enqueue_notifications(conn, RECORD_STEP, await _missed(conn, events))
            await dispatcher.enqueue_notifications(
                conn, REQUEST_VERIFICATION, [each for each in events if _is_unasked(each)]
            )
        if not events:
            return
        last = events[-1].id


async def _missed(conn: Conn, events: Sequence[PublishedEvent]) -> list[PublishedEvent]:
    """Those that prove what their account's profile does not have."""
    proved = [(each, proof) for each in events if (proof := proof_of(each)) is not None]
    lacking = await profiles.lacks(conn, claims=[(each.account_id, proof) for each, proof in proved])
    return [each for (each, _), lacks in zip(proved, lacking, strict=True) if lacks]


def _is_unasked(told: PublishedEvent) -> bool:
    return told.name == "account.created" and not told.read()["verified"]


@queue.app.task(name="profile.begin_verification", retry=queue.RETRY, pass_context=True)
async def begin_verification(context: JobContext, account_id: str) -> None:
    """Mails the first link to a new account."""
    async with queue.database(context).transaction() as conn:
        await profiles.begin_verification(
            conn, keyring=queue.keyring(context), settings=queue.settings(context), account_id=UUID(account_id)
        )


@queue.app.periodic(cron="23 4 * * *")
@queue.app.task(name="profile.prune", queueing_lock="profile.prune", pass_context=True)
async def prune(context: JobContext, timestamp: int) -> None:
    """Forgets which verification messages went where a month ago."""
    del timestamp
    await profiles.prune(queue.database(context))
