"""Invitations to the team of a portfolio."""

import asyncio
import re
from datetime import timedelta
from uuid import UUID

import pytest

from builders.identity.records import Preset
from builders.kit.callers import OPERATOR
from builders.kit.db import old_rows
from builders.kit.db.connections import Conn, Database
from builders.kit.values import clock
from builders.portfolio.team import members
from builders.portfolio.team.records import MAX_MEMBERS, MAX_MEMBERSHIPS, Access, TeamRole
from tests.cast import Client, Person
from tests.conftest import MakePerson
from tests.kit.scratch import until
from tests.portfolio.team.make import TEAM, code, invite, join, of
from tests.worker import Worker


async def test_an_invited_account_joins_and_selects_the_portfolio(
    alice: Person, bob: Person, charlie: Person
) -> None:
    made = await invite(alice, charlie, "accountant")
    assert made["status"] == "pending"
    assert [each["id"] for each in (await alice.get(TEAM)).json()["invites"]] == [made["id"]]
    assert code(await charlie.get(TEAM, headers=of(alice))) == (404, "portfolio_not_found")

    accepted = await charlie.post(f"{TEAM}/accept", json={"token": made["accept_token"]})
    assert accepted.json()["team_id"] == str(alice.account.id)
    assert accepted.json()["member"]["email"] == charlie.account.email
    repeated = await charlie.post(f"{TEAM}/accept", json={"token": made["accept_token"]})
    assert repeated.json() == accepted.json()

    team = (await charlie.get(TEAM, headers=of(alice))).json()
    assert team["your_role"] == "accountant"
    assert [each["account_id"] for each in team["members"]] == [str(alice.account.id), str(charlie.account.id)]
    [membership] = (await charlie.get(TEAM)).json()["memberships"]
    assert membership["owner_account_id"] == str(alice.account.id)
    assert membership["role"] == "accountant"
    assert code(await bob.get(TEAM, headers=of(alice))) == (404, "portfolio_not_found")


async def test_only_the_invited_verified_address_can_accept(
    alice: Person, bob: Person, people: MakePerson
) -> None:
    unverified = await people("una", Preset.DOMAINER_FULL, verified=False)
    token = {"token": (await invite(alice, unverified))["accept_token"]}
    assert code(await bob.post(f"{TEAM}/accept", json=token)) == (403, "invite_other_address")
    assert code(await unverified.post(f"{TEAM}/accept", json=token)) == (403, "email_unverified")
    assert code(await bob.post(f"{TEAM}/accept", json={"token": "x" * 43})) == (400, "token_invalid")
    assert (await alice.get(TEAM)).json()["count"] == 1


async def test_an_invitation_that_is_renewed_has_a_new_token(alice: Person, charlie: Person) -> None:
    first = await invite(alice, charlie)
    second = await invite(alice, charlie, "manager")
    assert second["id"] == first["id"]
    old = await charlie.post(f"{TEAM}/accept", json={"token": first["accept_token"]})
    assert code(old) == (400, "token_invalid")
    new = await charlie.post(f"{TEAM}/accept", json={"token": second["accept_token"]})
    assert new.json()["role"] == "manager"
    again = await alice.post(f"{TEAM}/invites", json={"email": charlie.account.email})
    assert code(again) == (409, "already_member")


async def test_an_expired_or_revoked_invitation_is_gone(alice: Person, bob: Person, charlie: Person) -> None:
    revoked, late = await invite(alice, bob), await invite(alice, charlie)
    path = f"{TEAM}/invites/{revoked['id']}"
    assert code(await charlie.delete(path)) == (404, "invite_not_found")
    assert (await alice.delete(path)).status_code == 204
    assert code(await alice.delete(path)) == (404, "invite_not_found")
    assert code(await alice.delete(f"{TEAM}/invites/none")) == (404, "invite_not_found")
    answer = await bob.post(f"{TEAM}/accept", json={"token": revoked["accept_token"]})
    assert code(answer) == (410, "invite_expired")
    clock.move(timedelta(hours=169))
    answer = await charlie.post(f"{TEAM}/accept", json={"token": late["accept_token"]})
    assert code(answer) == (410, "invite_expired")
    assert (await alice.get(TEAM)).json()["invites"] == []


async def test_an_invitation_ends_with_the_right_to_invite(alice: Person, bob: Person, charlie: Person) -> None:
    await join(alice, charlie, "owner")
    body = {"email": bob.account.email, "role": "owner"}
    token = {"token": (await charlie.post(f"{TEAM}/invites", json=body, headers=of(alice))).json()["accept_token"]}
    path = f"{TEAM}/members/{charlie.account.id}"
    await alice.patch(path, json={"role": "admin"})
    assert code(await bob.post(f"{TEAM}/accept", json=token)) == (410, "invite_expired")
    await alice.delete(path)
    assert code(await bob.post(f"{TEAM}/accept", json=token)) == (410, "invite_expired")


async def test_an_invitation_is_accepted_once(alice: Person, charlie: Person) -> None:
    token = {"token": (await invite(alice, charlie))["accept_token"]}
    answers = await asyncio.gather(*(charlie.post(f"{TEAM}/accept", json=token) for _ in range(4)))
    assert {each.status_code for each in answers} == {200}
    assert (await alice.get(TEAM)).json()["count"] == 2
    own = f"{TEAM}/members/{charlie.account.id}"
    assert (await charlie.delete(own, headers=of(alice))).status_code == 204
    assert code(await charlie.post(f"{TEAM}/accept", json=token)) == (409, "invite_used")


@pytest.mark.maximum("team_members")
async def test_concurrent_invitations_cannot_exceed_the_maximum_of_members(alice: Person, conn: Conn) -> None:
    await conn.execute(
        "INSERT INTO portfolio_team_members (account_id, member_id, role, joined_at)"
        " SELECT %s, gen_random_uuid(), 'viewer', now() FROM generate_series(1, %s)",
        [alice.account.id, MAX_MEMBERS - 2],
    )
    answers = await asyncio.gather(
        *(alice.post(f"{TEAM}/invites", json={"email": f"one{at}@harbour.example"}) for at in range(5))
    )
    assert sorted(each.status_code for each in answers) == [201] * 2 + [409] * 3
    assert {code(each) for each in answers if each.status_code == 409} == {(409, "team_limit")}


@pytest.mark.maximum("team_memberships")
async def test_concurrent_joins_cannot_exceed_the_maximum_of_memberships(
    alice: Person, bob: Person, charlie: Person, conn: Conn
) -> None:
    await conn.execute(
        "INSERT INTO portfolio_team_memberships (account_id, portfolio_id)"
        " SELECT %s, gen_random_uuid() FROM generate_series(1, %s)",
        [charlie.account.id, MAX_MEMBERSHIPS - 1],
    )
    tokens = [{"token": (await invite(each, charlie))["accept_token"]} for each in (alice, bob)]
    answers = await asyncio.gather(*(charlie.post(f"{TEAM}/accept", json=each) for each in tokens))
    assert sorted(each.status_code for each in answers) == [200, 409]
    assert [code(each) for each in answers if each.status_code == 409] == [(409, "membership_limit")]


async def test_an_invitation_is_mailed_with_its_link(alice: Person, charlie: Person, conn: Conn) -> None:
    sent = "SELECT recipient FROM mail_messages WHERE account_id = ANY(%s) AND template = 'team_invite'"
    await invite(alice.test, charlie)
    own = [[alice.account.id, alice.account.sandbox_id]]
    assert await (await conn.execute(sent, own)).fetchall() == []
    await invite(alice, charlie, message="Please help with the renewals.")
    assert len(await (await conn.execute(sent, own)).fetchall()) == 1


async def test_the_token_of_an_invitation_is_not_replayed(alice: Person, charlie: Person) -> None:
    headers = {"Idempotency-Key": "invite-1"}
    body = {"email": charlie.account.email}
    first = await alice.post(f"{TEAM}/invites", json=body, headers=headers)
    second = await alice.post(f"{TEAM}/invites", json=body, headers=headers)
    assert second.json() == {name: value for name, value in first.json().items() if name != "accept_token"}


async def test_the_page_of_an_invitation(alice: Person, charlie: Person) -> None:
    token = (await invite(alice, charlie, "manager"))["accept_token"]
    session = await charlie.sign_in()
    browser = {"Accept": "text/html"}
    async with Client(alice.service, cookie=session.token) as client:
        shown = await client.get(f"{TEAM}/join", params={"token": token}, headers=browser)
        assert shown.status_code == 200
        assert "role manager" in shown.text
        own = {**browser, "Origin": "http://builders.test"}
        joined = await client.post(f"{TEAM}/join", data={"token": token}, headers=own)
        assert "Welcome to the team" in joined.text
        bad = await client.get(f"{TEAM}/join", params={"token": "x" * 43}, headers=browser)
        assert bad.status_code == 400
        assert "You have not joined" in bad.text
    assert (await charlie.get(TEAM, headers=of(alice))).json()["your_role"] == "manager"
    async with Client(alice.service) as stranger:
        asked = await stranger.get(f"{TEAM}/join", params={"token": token}, headers=browser)
        assert asked.status_code == 401
        assert "Sign in" in asked.text


async def test_an_invitation_that_is_revoked_meanwhile_gives_nothing(
    alice: Person, charlie: Person, database: Database
) -> None:
    made = await invite(alice, charlie)
    own = alice.account.id
    access = Access(portfolio_id=own, owner_id=own, member_id=own, role=TeamRole.OWNER, actor=OPERATOR)

    async def is_waiting() -> bool:
        async with database.connection() as other:
            found = await other.execute("SELECT count(*) FROM pg_locks WHERE NOT granted")
            return bool((await found.fetchall())[0][0])

    async with database.transaction() as conn:
        await members.revoke_invite(conn, access=access, invite_id=UUID(made["id"]))
        accepting = asyncio.create_task(charlie.post(f"{TEAM}/accept", json={"token": made["accept_token"]}))
        await until(is_waiting)

    assert code(await accepting) == (410, "invite_expired")
    assert (await alice.get(TEAM)).json()["count"] == 1


async def test_an_admin_changes_no_invitation_of_an_owner(alice: Person, bob: Person, charlie: Person) -> None:
    await join(alice, charlie, "admin")
    made = await invite(alice, bob, "owner")
    headers = of(alice)

    revoked = await charlie.delete(f"{TEAM}/invites/{made['id']}", headers=headers)
    renewed = await charlie.post(f"{TEAM}/invites", json={"email": bob.account.email}, headers=headers)

    assert code(revoked) == code(renewed) == (403, "forbidden_role")
    accepted = await bob.post(f"{TEAM}/accept", json={"token": made["accept_token"]})
    assert accepted.json()["role"] == "owner"


COUNT = """
    SELECT (SELECT count(*) FROM portfolio_team_invites WHERE account_id = %(own)s),
           (SELECT count(*) FROM portfolio_team_tokens WHERE account_id = %(own)s)
"""


@pytest.mark.parametrize(("days", "kept"), [(89, 1), (91, 0)])
async def test_an_invitation_is_deleted_90_days_after_it_expired(
    alice: Person, charlie: Person, conn: Conn, database: Database, days: int, kept: int
) -> None:
    await invite(alice, charlie, expires_in_hours=1)
    clock.move(timedelta(days=days, hours=1))
    await old_rows.delete(database, "portfolio_team_invites", "portfolio_team_tokens")
    assert await (await conn.execute(COUNT, {"own": alice.account.id})).fetchall() == [(kept, kept)]


async def test_an_accepted_invitation_is_used_by_its_member_alone(
    alice: Person, charlie: Person, conn: Conn
) -> None:
    token = {"token": (await invite(alice, charlie))["accept_token"]}
    await charlie.post(f"{TEAM}/accept", json=token)
    await conn.execute(
        "UPDATE portfolio_team_invites SET accepted_by = gen_random_uuid() WHERE account_id = %s",
        [alice.account.id],
    )
    assert code(await charlie.post(f"{TEAM}/accept", json=token)) == (409, "invite_used")


async def test_the_mail_of_an_invitation_says_who_invites_to_what(
    alice: Person, charlie: Person, worker: Worker
) -> None:
    await invite(alice, charlie, "manager", message="Please help with the renewals.")
    [mail] = await worker.list_emails(charlie.account.email)
    text = mail.get_body(("plain",)).get_content()  # type: ignore[union-attr] # every mail has a plain part
    assert all(each in text for each in ("Alice", "manager", "Please help with the renewals."))


async def test_the_link_of_the_mail_opens_the_invitation(alice: Person, charlie: Person, worker: Worker) -> None:
    await invite(alice, charlie)
    [mail] = await worker.list_emails(charlie.account.email)
    text = mail.get_body(("plain",)).get_content()  # type: ignore[union-attr] # every mail has a plain part
    [link] = re.findall(r"http://builders\.test(/v1/portfolio/team/join\?token=\S+)", text)
    page = await charlie.get(link, headers={"Accept": "text/html"})
    assert "the portfolio team “Alice” with the role viewer" in page.text
