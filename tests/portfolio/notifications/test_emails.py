"""The email of notices about an expiry: what it says of each domain, and to whom."""

import re
from decimal import Decimal
from email.parser import Parser
from email.policy import default

from builders.kit.db.connections import Database
from builders.kit.jobs import queue
from builders.kit.process.settings import Settings
from builders.kit.values import clock
from builders.kit.values.money import Money
from builders.portfolio.ledger import rates
from builders.portfolio.ledger.records import Rate
from tests.cast import Person
from tests.portfolio.notifications.make import PREFERENCES, deliver, domain, notify, read_email
from tests.portfolio.team.make import join, of


async def load_rate(database: Database) -> None:
    async with database.transaction() as conn:
        await conn.execute("DELETE FROM portfolio_ledger_rates")
        await rates.load_rates(
            conn, rates=[Rate(currency="USD", quoted_on=clock.now().date(), rate=Decimal("1.25"))]
        )


def read_parts(settings: Settings, person: Person) -> list[str]:
    """The text and the HTML of the only notice to a person, with single spaces."""
    message = Parser(policy=default).parsestr(read_email(settings, person))
    parts = [message.get_body([kind]) for kind in ("plain", "html")]
    return [" ".join(str(each.get_content()).split()) for each in parts if each is not None]


async def test_an_email_names_registrar_price_and_page_of_each_domain(
    alice: Person, database: Database, settings: Settings
) -> None:
    await load_rate(database)
    account_id = alice.account.id
    hostile = "<b>Evil</b>\r\nBcc: x"
    added = [
        domain("bücher.com", 7, registrar="GoDaddy.com, LLC", renewal_price=Money.of("10.00", "EUR")),
        domain("harbour.com", 7, registrar=hostile),
        domain("pier.com", 7, renewal_price=None),
    ]
    await notify(database, account_id, added)
    await deliver(database, settings, account_id)
    await queue.run_pending(database, settings)
    text, html = read_parts(settings, alice)
    assert "- bücher.com (xn--bcher-kva.com), " in text
    assert re.search(r"Expires in 7 days, 10\.00 EUR \(\d+\.\d\d USD\), at GoDaddy\.com, LLC https://dcc\.", text)
    assert "Expires in 7 days, 12.00 USD, at <b>Evil</b> Bcc: x" in text
    assert "Expires in 7 days See it there" not in html
    assert 'href="https://dcc.godaddy.com/control/portfolio"' in html
    assert "&lt;b&gt;Evil" in html
    assert "<b>Evil" not in html


async def test_an_email_to_a_member_without_finance_has_no_prices(
    alice: Person, charlie: Person, database: Database, settings: Settings
) -> None:
    await load_rate(database)
    await join(alice, charlie, "viewer")
    await charlie.patch(PREFERENCES, json={"enabled": True}, headers=of(alice))
    await notify(database, alice.account.id, [domain("harbour.com", 7, renewal_price=Money.of("10.00", "EUR"))])
    await deliver(database, settings, alice.account.id)
    await queue.run_pending(database, settings)
    text, _ = read_parts(settings, charlie)
    assert "harbour.com" in text
    assert "10.00" not in text
    assert "USD" not in text
