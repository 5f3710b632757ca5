"""The complete export of an account whose rows are on the nodes."""

from builders.exports import tables
from builders.kit.process.settings import Settings
from tests.cast import Person
from tests.erasure.test_execution import LEAST, filled
from tests.exports.test_complete import export
from tests.exports.test_exports import collect

__all__ = ["filled"]


async def test_it_has_the_rows_of_all_nodes(filled: Person, settings: Settings) -> None:
    async with filled.browser() as browser:
        first, items = await collect(browser, await export(browser, filled, settings))

    assert len([each for each in items if each.startswith(tables.PREFIX)]) >= LEAST
    assert {"tables/invoices_numbers", "tables/aliases_names", "tables/identity_audit"} <= set(first["parts"])
