"""What an import reads is bounded by its rows, and not by what its domains have."""

from pathlib import Path
from typing import Any

import pytest

from builders.kit.db.connections import Conn
from builders.portfolio.imports import batches, domain_imports
from tests.cast import Person
from tests.portfolio.domains.make import add
from tests.portfolio.imports.make import counts, load
from tests.portfolio.reads import Traced, add_entries, traced


async def test_an_import_reads_only_the_entries_of_its_rows(
    alice: Person, conn: Conn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await add(alice, "harbour.com")
    await add_entries(conn, account_id=alice.account.id, domain="harbour.com", count=1_000)
    apply_batch, reads = batches.apply_batch, list[Traced]()

    async def watch(batch: Conn, **options: Any) -> object:
        with traced(batch, tmp_path) as read:
            reads.append(read)
            return await apply_batch(batch, **options)

    monkeypatch.setattr(domain_imports, "apply_batch", watch)
    assert counts(await load(alice, "domain,cost,bought\nharbour.com,5,2024-01-01\n")) == {"updated": 1}
    assert [each.rows < 50 for each in reads] == [True]
