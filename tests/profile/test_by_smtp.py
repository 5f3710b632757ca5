"""Verification through a real SMTP server."""

import re
from datetime import timedelta

from builders.kit.db.connections import Database
from builders.kit.process.settings import Settings
from builders.kit.values import clock
from tests.cast import Client, Person
from tests.mail.conftest import with_server
from tests.mail.smtp_server import MailServer
from tests.profile.make import CONFIRM, RESEND, ProfileWorker, me, verification


async def test_the_message_arrives_and_its_link_works_once(
    ursula: Person, anyone: Client, database: Database, settings: Settings
) -> None:
    async with MailServer() as server:
        worker = ProfileWorker(database, with_server(settings, server.url()))
        await worker.work()
        [received] = [each for each in server.received if each.recipients == [ursula.account.email]]
        body = received.message.get_body(("plain",))
        assert body is not None
        link = re.search(rf"http://builders\.test{CONFIRM}\?token=\S+", body.get_content())
        assert link is not None
        assert (await verification(ursula))["delivery"] == {"status": "sent", "error": None}

        assert (await ursula.post(RESEND)).status_code == 429
        assert (await anyone.get(link[0])).json()["status"] == "confirmed"
        assert (await anyone.get(link[0])).json()["status"] == "already_confirmed"
        assert (await me(ursula))["email_verified"] is True
        clock.move(timedelta(seconds=61))
        assert (await ursula.post(RESEND)).json()["sent"] is False


async def test_an_address_that_the_server_rejects_is_bounced(
    ursula: Person, database: Database, settings: Settings
) -> None:
    async with MailServer() as server:
        worker = ProfileWorker(database, with_server(settings, server.url()))
        server.script.rcpt = ["550 5.1.1 no such user"] * 50  # other tests may have queued mail
        await worker.work()

        found = await verification(ursula)
        assert (found["status"], found["delivery"]["status"]) == ("bounced", "bounced")
        assert "no such user" in found["delivery"]["error"]
