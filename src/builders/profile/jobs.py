"""What the profile does by itself: notes steps of onboarding by the news that proves them, mails first links."""

from collections.abc import Mapping
from dataclasses import dataclass
from uuid import UUID

from procrastinate import JobContext

from builders.identity.records import Preset
from builders.kit import jobs, news
from builders.kit.db import Conn
from builders.kit.news import News
from builders.profile import onboarding
from builders.profile import service as profiles
from builders.profile.records import Role, StepKey


@dataclass(frozen=True, slots=True)
class Proof:
    """What an event proves of the account that it is told of."""

    step: StepKey
    role: Role | None = None


# Some are of rooms to come: a room that declares such an event need not know of onboarding.
PROOFS: Mapping[str, Proof] = {
    "email.verified": Proof(StepKey.VERIFY_EMAIL),
    "project.created": Proof(StepKey.CREATE_PROJECT, Role.BUILDER),
    "plan.created": Proof(StepKey.FIRST_PLAN, Role.BUILDER),
    "promotion.completed": Proof(StepKey.FIRST_PROMOTE, Role.BUILDER),
    "portfolio_domain.created": Proof(StepKey.ADD_DOMAIN, Role.DOMAINER),
    "registrar.connected": Proof(StepKey.CONNECT_REGISTRAR, Role.DOMAINER),
}


async def prove(conn: Conn, told: News) -> None:
    """Notes the step that an event proves; a plan with errors is no plan."""
    proof = PROOFS[told.name]
    if told.name == "plan.created" and told.read()["status"] == "blocked":
        return
    await profiles.note_step(
        conn, account_id=told.account_id, step=proof.step, at=told.created_at, role=proof.role
    )


for _event in PROOFS:
    news.subscribe(_event)(prove)


@news.subscribe("api_key.created")
async def note_key(conn: Conn, told: News) -> None:
    """Notes that there is a key; its preset says what the account is here for."""
    role = onboarding.ROLES[Preset(told.read()["preset"])]
    await profiles.note_step(
        conn, account_id=told.account_id, step=StepKey.CREATE_API_KEY, at=told.created_at, role=role
    )


@news.subscribe("account.created")
async def welcome(conn: Conn, told: News) -> None:
    """Notes that a new account's address is confirmed, or has it asked."""
    if told.read()["verified"]:
        await profiles.note_step(conn, account_id=told.account_id, step=StepKey.VERIFY_EMAIL, at=told.created_at)
        return
    account_id = str(told.account_id)
    await jobs.defer(conn, begin_verification, once=f"profile.verify {account_id}", account_id=account_id)


@jobs.app.task(name="profile.begin_verification", retry=jobs.RETRY, pass_context=True)
async def begin_verification(context: JobContext, account_id: str) -> None:
    """Mails the first link to a new account."""
    async with jobs.database(context).transaction() as conn:
        await profiles.begin_verification(
            conn, keyring=jobs.keyring(context), settings=jobs.settings(context), account_id=UUID(account_id)
        )


@jobs.app.periodic(cron="23 4 * * *")
@jobs.app.task(name="profile.prune", queueing_lock="profile.prune", pass_context=True)
async def prune(context: JobContext, timestamp: int) -> None:
    """Forgets which verification messages went where a month ago."""
    del timestamp
    async with jobs.database(context).transaction() as conn:
        await profiles.prune(conn)
