"""Domains, notices and emails of the tests."""

from collections.abc import Sequence
from datetime import date, timedelta
from typing import Any
from uuid import UUID

from builders.kit.db.connections import Database
from builders.kit.process import secret_keys
from builders.kit.process.settings import Settings
from builders.kit.values import clock, ids
from builders.kit.values.money import Money
from builders.mail import service as mail
from builders.mail.records import Message
from builders.portfolio.notifications import service as notifications
from builders.portfolio.notifications.preferences import list_recipients
from builders.portfolio.notifications.records import ExpiringDomain
from tests.cast import Client, Person

NOTICES = "/v1/portfolio/notifications"
PREFERENCES = f"{NOTICES}/preferences"


def domain(name: str, days: int, *, auto_renew: bool | None = False, **more: Any) -> ExpiringDomain:
    """A domain that expires in some days of the present date."""
    members: dict[str, Any] = {"renewal_price": Money.of("12.00", "USD"), "tags": (), **more}
    expires_on: date = clock.now().date() + timedelta(days=days)
    return ExpiringDomain(
        id=ids.new(), domain=name, expires_on=expires_on, days_left=days, auto_renew=auto_renew, **members
    )


async def notify(database: Database, account_id: UUID, domains: Sequence[ExpiringDomain]) -> int:
    """Make the notices that are due about the domains."""
    async with database.transaction() as conn:
        recipients = (await list_recipients(conn, account_ids=[account_id]))[account_id]
        return await notifications.notify_of_expiry(
            conn, account_id=account_id, recipients=recipients, domains=domains, now=clock.now()
        )


async def deliver(database: Database, settings: Settings, account_id: UUID) -> int:
    """Send the emails that are due."""
    async with database.transaction() as conn:
        return await notifications.deliver(conn, keyring=secret_keys.keyring_of(settings), account_id=account_id)


async def emails(database: Database, person: Person) -> Sequence[Message]:
    """The notices that were mailed to a person, newest first."""
    async with database.connection() as conn:
        found = await mail.list_messages(conn, account_id=person.account.id)
    return [each for each in found if each.letter == "renewal_notice"]


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
