"""Jobs of domains: check those that are due, and mail the owner of a suspended domain."""

from uuid import UUID

from procrastinate import JobContext

from builders.domains import account_domains, verification
from builders.domains.records import AccountDomainStatus
from builders.domains.verification import GRACE
from builders.identity import accounts
from builders.kit.db.connections import Conn
from builders.kit.events import dispatcher
from builders.kit.events.dispatcher import PublishedEvent
from builders.kit.jobs import queue
from builders.mail import service as mail
from builders.mail.templates import DomainUnproved


@queue.periodic("* * * * *", name="domains.check_due")
async def check_due(context: JobContext) -> None:
    """Check the proofs and the mail records of the domains that are due."""
    await verification.check_due(queue.database(context), settings=queue.settings(context))


@dispatcher.subscribe("domain.suspended", name="domains.notify_suspended")
async def notify_suspended(conn: Conn, event: PublishedEvent) -> None:
    """Enqueue the email to the owner."""
    domain_id = str(event.read()["id"])
    await queue.defer(
        conn,
        mail_suspended,
        once=f"domains.notify {domain_id}",
        account_id=str(event.account_id),
        domain_id=domain_id,
    )


@queue.app.task(name="domains.notify", retry=queue.RETRY, pass_context=True)
async def mail_suspended(context: JobContext, account_id: str, domain_id: str) -> None:
    """Mail the owner of a suspended domain, unless it is live again or released."""
    owner = UUID(account_id)
    async with queue.database(context).transaction() as conn:
        domain = await account_domains.get(conn, account_id=owner, domain_id=UUID(domain_id))
        if domain.status is not AccountDomainStatus.SUSPENDED or domain.is_sandbox:
            return
        account = await accounts.get_account(conn, account_id=owner)
        template = DomainUnproved(
            domain=domain.unicode or domain.domain,
            record=domain.challenge_name,
            value=domain.challenge_value,
            days=GRACE.days,
        )
        await mail.send(
            conn, keyring=queue.keyring(context), account_id=owner, to=account.email, template=template
        )
