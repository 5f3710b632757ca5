"""What happened to the mail of a name: counted once from the log of the mail server, and shown to its owner."""

import asyncio
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from builders.app import Service
from builders.forwarding import mail_log
from builders.forwarding.accounting import RESULTS_OF_DAY
from builders.forwarding.mail_log import MailLog
from builders.kit.db import old_rows
from builders.kit.db.connections import Conn
from builders.kit.process import metrics
from builders.kit.values import clock
from tests.aliases.make import ALIASES, Owner, destinations, published
from tests.cast import Client, Person
from tests.forwarding.make import set_catch_all
from tests.plans.make import alias, apply, get_alias

Json = dict[str, Any]
BLOCKED = """
    SELECT count(*) FROM pg_locks WHERE relation = 'forwarding_days'::regclass AND NOT granted
"""
SAID = "host mx.sink.example[192.0.2.99] said: 550 {} No (in reply to RCPT TO command)"


class Name:
    """A name, and the log of the mail server that has its mail."""

    def __init__(self, alias: Json, path: Path, service: Service) -> None:
        self.path = f"{ALIASES}/{alias['id']}/mail"
        self.address, self.to = alias["address"], alias["destinations"][0]["email"]
        self._log, self._service = path, service
        self.messages = 0

    def write(self, program: str, text: str) -> None:
        """Log a line."""
        with self._log.open("a") as file:
            file.write(f"{clock.now().isoformat()} mx1 postfix/{program}[735]: {text}\n")

    def deliver(
        self,
        queue_id: str = "",
        *,
        status: str = "sent",
        code: str = "2.0.0",
        text: str = "250 OK",
        program: str = "smtp",
        **members: str | None,
    ) -> None:
        """Log a delivery of a message, a new one unless it has an id."""
        self.messages += 1
        queue_id = queue_id or f"4Y2b{self.messages:06}z{self.address[-20:-8]}"
        original = members.get("original", self.address)
        by = "" if original is None else f"orig_to=<{original}>, "
        self.write(
            program,
            f"{queue_id}: to=<{members.get('to') or self.to}>, {by}relay=mx.sink.example[192.0.2.99]:25, "
            f"delay=0.22, delays=0.19/0.02/0.01/0, dsn={code}, status={status} ({text})",
        )

    def bounce(self, queue_id: str = "", *, code: str = "5.1.1", **members: str) -> None:
        """Log that the server of the destination refused a message."""
        self.deliver(queue_id, status="bounced", code=code, text=SAID.format(code), **members)

    def refuse(self, program: str = "smtpd", address: str = "") -> None:
        """Log that a message was refused while its sender was connected."""
        self.write(
            program,
            f"NOQUEUE: reject: RCPT from unknown[192.0.2.10]: 550 5.7.1 <x>: No; from=<a@b.example> "
            f"to=<{address or self.address}> proto=ESMTP helo=<mx>",
        )

    def reader(self) -> MailLog:
        """Return a new reader, as after a restart."""
        state = self._service.api.state
        return MailLog(state.database, state.keyring, host="mx1", path=self._log)

    async def read(self) -> None:
        """Read the log to its end."""
        while await self.reader().read():
            pass

    async def shown(self, client: Client) -> Json:
        """Read the log, and return what its owner sees."""
        await self.read()
        answer = await client.get(self.path)
        assert answer.status_code == 200, answer.text
        body: Json = answer.json()
        return body

    async def counts(self, client: Client) -> Json:
        """Read the log, and return the sums of the counts."""
        days = (await self.shown(client))["days"]
        return {each: sum(day[each] for day in days) for each in ("forwarded", "deferred", "bounced", "refused")}


@pytest.fixture
async def name(alice: Person, shared: str, service: Service, tmp_path: Path) -> Name:
    """Return a name of Alice."""
    claimed = await get_alias(
        alice, await apply(alice, alias(f"ada.lovelace@{shared}", alice.account.email, key="a"))
    )
    return Name(claimed, tmp_path / "mail.log", service)


async def paused(client: Client, name: Name) -> bool:
    """Return whether the destination of a name is paused, after the log is read."""
    await name.read()
    return (await destinations(client))[name.to]["paused_at"] is not None


async def test_results_are_shown_newest_first_with_counts_by_day(alice: Person, name: Name) -> None:
    name.deliver("AAAAAA1")
    name.bounce("AAAAAA2", code="5.7.1")
    name.refuse()
    shown = await name.shown(alice)
    assert [(each["queue_id"], each["outcome"], each["code"]) for each in shown["items"]] == [
        ("AAAAAA2", "bounced", "5.7.1"),
        ("AAAAAA1", "forwarded", "2.0.0"),
    ]
    assert shown["items"][0]["destination"] == name.to
    (day,) = shown["days"]
    last_at = day.pop("last_at")
    assert day == {
        "day": clock.now().date().isoformat(),
        "forwarded": 1,
        "deferred": 0,
        "bounced": 1,
        "refused": 1,
    }
    assert last_at >= shown["items"][0]["at"]
    page = (await alice.get(name.path, params={"limit": 1})).json()
    rest = (await alice.get(name.path, params={"limit": 1, "cursor": page["next_cursor"]})).json()
    assert [page["items"][0]["queue_id"], rest["items"][0]["queue_id"]] == ["AAAAAA2", "AAAAAA1"]
    assert rest["next_cursor"] is None


async def test_a_stranger_learns_nothing(bob: Person, name: Name) -> None:
    name.deliver()
    await name.read()
    assert (await bob.get(name.path)).status_code == 404


async def test_each_spelling_counts_for_the_name_and_other_addresses_for_none(alice: Person, name: Name) -> None:
    local_part, _, domain = name.address.partition("@")
    for spelling in (local_part.replace(".", ""), f"{local_part.upper()}+shop", f'"{local_part}"'):
        name.deliver(original=f"{spelling}@{domain}")
    for other in (f"nobody@{domain}", "ada@elsewhere.example", "ada", "", "@", None):
        name.deliver(original=other)
        name.refuse(address=other or "x")
    assert await name.counts(alice) == {"forwarded": 2, "deferred": 0, "bounced": 0, "refused": 0}


async def test_a_message_that_waits_counts_as_deferred_once_and_then_as_what_it_becomes(
    alice: Person, name: Name
) -> None:
    for _ in range(2):
        name.deliver("AAAAAA1", status="deferred", code="4.2.0")
        name.deliver("AAAAAA2", status="deferred", code="4.4.1")
        await name.read()
    name.deliver("AAAAAA1")
    name.write("qmgr", "AAAAAA2: from=<a@b.example>, status=expired, returned to sender")
    shown = await name.shown(alice)
    assert {(each["queue_id"], each["outcome"]) for each in shown["items"]} == {
        ("AAAAAA1", "forwarded"),
        ("AAAAAA2", "bounced"),
    }
    assert await name.counts(alice) == {"forwarded": 1, "deferred": 2, "bounced": 1, "refused": 0}


async def test_two_readers_at_once_count_each_line_once(alice: Person, name: Name) -> None:
    for _ in range(20):
        name.deliver()
        name.refuse()
    await asyncio.gather(*(name.read() for _ in range(4)))
    assert await name.counts(alice) == {"forwarded": 20, "deferred": 0, "bounced": 0, "refused": 20}


async def test_a_reader_that_ends_before_its_commit_counts_nothing(
    alice: Person, name: Name, service: Service, conn: Conn
) -> None:
    name.deliver()
    async with service.api.state.database.transaction() as other:
        await other.execute("LOCK forwarding_days IN SHARE MODE")  # after the results, and before the position
        reading = asyncio.create_task(name.reader().read())
        while (await (await conn.execute(BLOCKED)).fetchone()) == (0,):
            pass
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading
    assert (await name.counts(alice))["forwarded"] == 1


async def test_the_result_of_what_the_filter_made_counts_for_the_name(alice: Person, name: Name) -> None:
    hand_over = {"program": "lmtp", "to": "f-x@filter.invalid", "text": "250 2.0.0 Ok: queued as BBBBBB1"}
    name.write("filter/smtpd", "BBBBBB1: client=localhost[127.0.0.1]")
    name.deliver("BBBBBB1", original=None)  # before the line that says whose it is
    assert (await name.counts(alice))["forwarded"] == 0
    name.deliver("AAAAAA1", program="lmtp", to="f-x@filter.invalid", status="deferred", code="4.3.0")
    name.deliver("AAAAAA1", **hand_over)
    name.deliver("BBBBBB1", original=None, to="bob@example.net")
    shown = await name.shown(alice)
    assert {(each["queue_id"], each["destination"]) for each in shown["items"]} == {
        ("BBBBBB1", name.to),
        ("BBBBBB1", "bob@example.net"),
    }
    name.deliver("AAAAAA2", program="lmtp", to="f-x@filter.invalid", status="bounced", code="5.1.1")
    assert await name.counts(alice) == {"forwarded": 2, "deferred": 0, "bounced": 1, "refused": 0}
    assert (await alice.get(name.path)).json()["items"][0]["destination"] == name.address


async def test_a_result_that_nobody_explains_delays_the_others_for_seconds_only(alice: Person, name: Name) -> None:
    name.write("filter/smtpd", "CCCCCC1: client=localhost[127.0.0.1]")
    name.deliver("CCCCCC1", original=None)
    name.deliver()
    assert (await name.counts(alice))["forwarded"] == 0
    clock.move(mail_log.WAIT)
    assert (await name.counts(alice))["forwarded"] == 1


async def test_a_flood_is_counted_and_does_not_fill_the_table(alice: Person, name: Name) -> None:
    for _ in range(RESULTS_OF_DAY + 5):
        name.deliver()
    name.deliver("LATE001", status="deferred")
    name.deliver("LATE001")
    assert await name.counts(alice) == {"forwarded": RESULTS_OF_DAY + 6, "deferred": 0, "bounced": 0, "refused": 0}
    assert len((await alice.get(name.path, params={"limit": 500})).json()["items"]) == RESULTS_OF_DAY


async def test_old_results_and_counts_are_deleted(alice: Person, name: Name, service: Service) -> None:
    name.deliver()
    await name.read()
    clock.move(timedelta(days=7, minutes=1))
    await old_rows.delete(service.api.state.database, "forwarding_results", "forwarding_days")
    shown = await name.shown(alice)
    assert (shown["items"], len(shown["days"])) == ([], 1)
    clock.move(timedelta(days=84))
    await old_rows.delete(service.api.state.database, "forwarding_results", "forwarding_days")
    assert (await name.shown(alice))["days"] == []


async def test_a_destination_that_does_not_exist_for_three_messages_on_two_days_is_paused(
    alice: Person, name: Name, owner: Owner, conn: Conn
) -> None:
    name.bounce()
    name.bounce()
    name.bounce()
    assert not await paused(alice, name)
    clock.move(timedelta(days=1))
    name.bounce()
    assert await paused(alice, name)
    assert len(await published(conn, owner.account_id, "alias.bounced")) == 1


async def test_one_message_counts_once_for_a_pause(alice: Person, name: Name) -> None:
    for _ in range(2):
        for _ in range(2):
            name.bounce("AAAAAA1", original=name.address)
            name.bounce("AAAAAA2", to=name.to.upper())
        clock.move(timedelta(days=1))
    assert not await paused(alice, name)


async def test_accepted_mail_begins_the_count_again(alice: Person, name: Name) -> None:
    for _ in range(3):
        name.bounce()
        name.bounce()
        await name.read()
        clock.move(timedelta(days=1))
        name.deliver()
    assert not await paused(alice, name)


async def test_spam_pauses_nothing(alice: Person, name: Name) -> None:
    """A stranger causes each of these at a destination that exists."""
    for _ in range(3):
        for code in ("5.7.1", "5.2.2", "5.1.8", "5.1.7", "5.0.0"):
            name.bounce(code=code)
        name.deliver(
            status="bounced",
            code="5.1.1",
            text="host mx[192.0.2.99] said: 550 5.1.1 Spam (in reply to end of DATA command)",
        )
        name.deliver(status="bounced", code="5.1.1", text=SAID.format("5.1.1"), program="lmtp")
        name.deliver(status="deferred", code="4.1.1", text=SAID.format("4.1.1"))
        name.refuse()
        await name.read()
        clock.move(timedelta(days=1))
    assert not await paused(alice, name)


async def test_an_address_that_looks_like_a_bounce_of_a_victim_pauses_nothing(alice: Person, name: Name) -> None:
    for _ in range(3):
        for _ in range(2):
            local_part, _, domain = name.address.partition("@")
            fake = f'"{local_part}+>, relay=a[1.2.3.4]:25, delay=1, delays=0, dsn=5.1.1, status=bounced ({SAID})"'
            name.deliver(status="deferred", code="4.4.1", original=f"{fake}@{domain}")
        await name.read()
        clock.move(timedelta(days=1))
    assert not await paused(alice, name)


async def test_mail_to_a_catch_all_pauses_its_destination(
    alice: Person, name: Name, service: Service, domain: str
) -> None:
    await set_catch_all(alice, service, domain, name.to)
    for _ in range(2):
        name.bounce(original=f"anything@{domain}")
        name.bounce(original=f"anything@{domain}")
        clock.move(timedelta(days=1))
        await name.read()
    assert await paused(alice, name)
    assert (await name.shown(alice))["days"] == []


async def test_the_same_destination_of_another_account_is_not_paused(
    alice: Person, bob: Person, name: Name, shared: str, service: Service
) -> None:
    claimed = await get_alias(bob, await apply(bob, alias(f"bob@{shared}", bob.account.email)))
    for _ in range(2):
        for _ in range(2):
            name.bounce(to=claimed["destinations"][0]["email"])
        clock.move(timedelta(days=1))
        await name.read()
    assert (await destinations(bob))[bob.account.email]["paused_at"] is None
    assert alice.account.email == name.to
    del service


async def test_lines_are_counted_by_their_kind(alice: Person, name: Name) -> None:
    def count(kind: str) -> float:
        return metrics.REGISTRY.get_sample_value("builders_mail_log_lines_total", {"kind": kind}) or 0

    before = [count(each) for each in ("delivery", "refusal", "other", "unreadable")]
    name.deliver()
    name.refuse()
    name.write("qmgr", "AAAAAA1: removed")
    name.write("smtp", "AAAAAA1: to=<a@b.example>, in another format")
    await name.counts(alice)
    after = [count(each) for each in ("delivery", "refusal", "other", "unreadable")]
    assert [late - early for late, early in zip(after, before, strict=True)] == [1, 1, 1, 1]
