"""The caller that a credential is now: a session acts for its own live account alone."""

from builders.identity import callers
from builders.kit.db.connections import Conn
from tests.cast import Person


async def test_a_session_is_a_program_of_its_live_account(alice: Person, conn: Conn) -> None:
    session = (await alice.sign_in()).session
    own = {"live_account_id": alice.account.id, "credential_id": session.id}
    found = await callers.find(conn, account_id=alice.account.id, **own)

    assert found is not None
    assert (found.method, found.signed_in_at) == ("jwt", None)
    assert await callers.find(conn, account_id=alice.account.sandbox_id, **own) is None


async def test_a_session_of_another_account_is_refused(alice: Person, bob: Person, conn: Conn) -> None:
    session = (await alice.sign_in()).session
    bobs = bob.account.id

    assert await callers.find(conn, account_id=bobs, live_account_id=bobs, credential_id=session.id) is None
