"""The erasure of an account whose rows are on the nodes."""

from builders.kit.db.connections import Conn
from tests.cast import Person
from tests.erasure.test_execution import KEPT, LEAST, count_rows, erase, filled

__all__ = ["filled"]


async def test_no_row_of_an_erased_account_is_left_on_a_node(filled: Person, conn: Conn) -> None:
    assert len(await count_rows(conn, filled)) >= LEAST
    await erase(filled)
    assert set(await count_rows(conn, filled)) <= KEPT
