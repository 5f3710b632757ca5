"""A set of names costs as many statements as one name."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from builders.aliases import billing, claims
from builders.invoices import invoices, payments
from builders.invoices.records import GRACE
from builders.kit.db.connections import Database
from builders.kit.values import clock
from tests.aliases.make import QUARANTINE, Owner, fresh, spec
from tests.aliases.test_renewals import SELLER
from tests.conftest import MakePerson
from tests.invoices.make import line, make_invoice
from tests.wire import counted

SIZES = (3, 300)


@pytest.fixture
async def owners(people: MakePerson, database: Database) -> list[tuple[int, Owner]]:
    """Return an account with that many names for each size."""
    made = []
    for size in SIZES:
        owner = Owner.of(database, await people("owner"))
        domain = fresh()
        await owner.claim(*(spec(f"crew{at:04}", domain) for at in range(size)))
        made.append((size, owner))
    return made


async def test_the_statements_of_a_renewal_do_not_depend_on_the_number_of_names(
    owners: list[tuple[int, Owner]], database: Database, tmp_path: Path
) -> None:
    clock.move(timedelta(days=350))
    counts = []
    for size, owner in owners:
        async with database.transaction() as conn:
            with counted(conn, tmp_path / "wire") as sent:
                assert await billing.renew_aliases(conn, account_id=owner.account_id, seller=SELLER) == size
        counts += sent
    assert counts[0] == counts[1] <= 20


async def test_the_statements_of_a_suspension_do_not_depend_on_the_number_of_names(
    owners: list[tuple[int, Owner]], database: Database, tmp_path: Path
) -> None:
    made = []
    for _, owner in owners:
        lines = [line(alias_id=each.id) for each in (await owner.aliases()).values()]
        made.append(await make_invoice(database, account_id=owner.account_id, lines=lines))
    clock.move(timedelta(days=15) + GRACE)
    await invoices.advance(database)
    counts: list[list[int]] = []
    for _ in range(2):
        once: list[int] = []
        for each in made:
            async with database.transaction() as conn:
                whose: dict[str, Any] = {"account_id": each.account_id, "invoice_id": each.id}
                with counted(conn, tmp_path / "wire") as sent:
                    await claims.settle_invoice(conn, **whose, quarantine=QUARANTINE)
                once += sent
                if not counts:
                    await payments.pay(conn, **whose, method="transfer", reference=str(each.id))
        counts.append(once)
    assert all(few == many <= 8 for few, many in counts)
