"""What an import of charges computes is bounded by its columns, and not by its rows times their members."""

import pytest

from builders.kit.sheets.csv_files import MAX_COLUMNS
from tests.cast import Person
from tests.portfolio.billing.make import IMPORT, add_domains
from tests.portfolio.team.make import code

ROW = {"date": "2026-03-01", "domain": "harbour.com", "amount": "10.98"}


@pytest.mark.parametrize("count", [MAX_COLUMNS - len(ROW), 20_000])
async def test_the_different_members_of_all_rows_are_limited(alice: Person, count: int) -> None:
    await add_domains(alice, "harbour.com")
    rows = [{**ROW, f"note{at}": "x"} for at in range(count)][:10_000]
    rows[0] |= {f"note{at}": "x" for at in range(len(rows), count)}
    answer = await alice.post(IMPORT, json={"rows": rows, "dry_run": True})
    if count + len(ROW) <= MAX_COLUMNS:
        assert answer.status_code == 200, answer.text
    else:
        assert code(answer) == (422, "too_many_columns")


async def test_the_columns_of_a_file_are_limited(alice: Person) -> None:
    header = ",".join([*ROW, *(f"note{at}" for at in range(MAX_COLUMNS))])
    answer = await alice.post(IMPORT, json={"csv": f"{header}\n2026-03-01,harbour.com,10.98\n"})
    assert code(answer) == (422, "too_many_columns")
