"""Domains, notices and emails of the tests."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID

from builders.kit.db.connections import Database
from builders.kit.process import secret_keys
from builders.kit.process.settings import Settings
from builders.kit.values import clock
from builders.kit.values.money import Money
from builders.mail import service as mail
from builders.mail.records import Message
from builders.portfolio.domains import changes, names
from builders.portfolio.domains.records import NewDomain
from builders.portfolio.notifications import delivery, runs
from tests.cast import Client, Person

NOTICES = "/v1/portfolio/notifications"
PREFERENCES = f"{NOTICES}/preferences"


def domain(name: str, days: int, *, auto_renew: bool | None = False, **more: Any) -> NewDomain:
    """A domain that expires at the end of the day that is some days from now."""
    midnight = clock.now().replace(hour=23, minute=59, second=59, microsecond=0)
    members: dict[str, Any] = {"renewal_price": Money.of("12.00", "USD"), **more}
    expires_at = midnight + timedelta(days=days)
    return NewDomain(name=names.parse_name(name), expires_at=expires_at, auto_renew=auto_renew, **members)


async def notify(database: Database, account_id: UUID, domains: Sequence[NewDomain] = ()) -> int:
    """Add the domains that are new, and make the notices that are due."""
    async with database.transaction() as conn:
        await changes.add_domains(conn, account_id=account_id, new=domains)
    return (await runs.run(database, account_id=account_id)).notices


async def deliver(database: Database, settings: Settings, account_id: UUID) -> int:
    """Send the emails that are due."""
    async with database.transaction() as conn:
        return await delivery.deliver(conn, keyring=secret_keys.keyring_of(settings), account_id=account_id)


async def emails(database: Database, person: Person) -> Sequence[Message]:
    """The notices that were mailed to a person, newest first."""
    async with database.connection() as conn:
        found = await mail.list_messages(conn, account_id=person.account.id)
    return [each for each in found if each.template == "renewal_notice"]


def read_email(settings: Settings, person: Person) -> str:
    """The only notice that was mailed to a person, as it is in the folder of the development outbox."""
    files = [each.read_text() for each in mail.list_outbox(settings.data_dir) if "renewal_notice" in each.name]
    [text] = [each for each in files if person.account.email in each]
    return text


async def notices(client: Client, **options: Any) -> list[dict[str, Any]]:
    """The first page of a member's notices."""
    answer = await client.get(NOTICES, **options)
    assert answer.status_code == 200, answer.text
    items: list[dict[str, Any]] = answer.json()["items"]
    return items


async def prefer(client: Client, **body: object) -> None:
    """Patch preferences."""
    answer = await client.patch(PREFERENCES, json=body)
    assert answer.status_code == 200, answer.text
