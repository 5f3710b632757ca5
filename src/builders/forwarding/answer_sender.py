"""Sends the answers of programs: claims those that are due, composes and signs them.

It runs in the process of the mail filter, beside the mail server that may send for the domains of names. Two
processes never claim the same answer. A claim ends after LEASE, so that the answer of a process that ended is
sent; each attempt has the same Message-ID.
"""

import asyncio
from datetime import datetime, timedelta

import psycopg

from builders.forwarding import answer_texts, answers, correspondents, store
from builders.forwarding.mail_filter import TRY_LATER, MailFilter, Refused
from builders.forwarding.records import AnswerStatus, DueAnswer
from builders.identity import keys
from builders.kit.db.batches import by_account
from builders.kit.db.connections import Database
from builders.kit.db.restores import Known
from builders.kit.errors import DatabaseBusy, DatabaseUnavailable
from builders.kit.process import log
from builders.kit.process.secret_keys import Keyring, Unsealable
from builders.kit.values import clock

POLL_S = 1.0
BATCH = 20
LEASE = timedelta(minutes=3)
RETRY_DELAYS = tuple(timedelta(minutes=each) for each in (1, 5, 15, 60))  # the last one repeats
RETRY_FOR = timedelta(hours=24)
_PERMANENT = "5"  # the first digit of a reply
GONE = "550 5.7.1 The rule of the name allows no answer any more."

_log = log.get_logger()


class AnswerSender:
    """Sends answers by the mail filter."""

    def __init__(self, database: Database, keyring: Keyring, mail_filter: MailFilter) -> None:
        self._database, self._keyring, self._filter = database, keyring, mail_filter

    async def run(self, stopping: asyncio.Event) -> None:
        """Send what is due until the event is set. A fault of the database ends no more than a round."""
        await Known(self._database).wait(stopping)
        while not stopping.is_set():
            try:
                sent = await self.send_due()
            except (DatabaseUnavailable, DatabaseBusy, psycopg.Error) as error:
                _log.error("answers_not_sent", error=str(error))
                sent = 0
            if sent < BATCH:
                try:
                    async with asyncio.timeout(POLL_S):
                        await stopping.wait()
                except TimeoutError:
                    pass

    async def send_due(self) -> int:
        """Make an attempt for each of a batch of answers that are due; return their number."""
        now, claimed = clock.now(), list[DueAnswer]()
        async with self._database.transaction() as conn:
            for account_id, found in by_account(await store.list_due_answers(conn, now=now, limit=BATCH)):
                claimed += await store.claim_answers(
                    conn, account_id=account_id, ids=found, now=now, until=now + LEASE
                )
        for each in claimed:
            await self._attempt(each)
        return len(claimed)

    async def _attempt(self, due: DueAnswer) -> None:
        try:
            reply = await self._send(due)
        except Refused as refusal:
            reply = str(refusal)
        except Unsealable:
            reply = "550 The secret key that sealed the answer is missing."
        except Exception:  # noqa: BLE001 - others are sent, and this one is tried again, for a day
            _log.exception("answer_not_sent", answer_id=due.id)
            reply = TRY_LATER
        code, now = reply[:3], clock.now()
        done = AnswerStatus.SENT if code.startswith("2") else AnswerStatus.FAILED
        again = _next_try(due, now)
        async with self._database.connection() as conn:
            if done is AnswerStatus.FAILED and not code.startswith(_PERMANENT) and again is not None:
                await store.defer_answer(conn, account_id=due.account_id, id=due.id, code=code, next_try_at=again)
                return
            sent_at = now if done is AnswerStatus.SENT else None
            await store.finish_answer(
                conn, account_id=due.account_id, id=due.id, status=done, code=code, sent_at=sent_at
            )

    async def _send(self, due: DueAnswer) -> str:
        """Return the reply of the mail server. Raise Refused, also if the answer is not allowed any more."""
        async with self._database.connection() as conn:
            rule = await store.find_reception(conn, account_id=due.account_id, alias_id=due.alias_id)
            alias = await correspondents.find_replying(conn, account_id=due.account_id, alias_id=due.alias_id)
            is_active = await keys.is_active(conn, account_id=due.account_id, key_id=due.key_id)
        if alias is None or rule is None or not (rule.may_reply and rule.key_id == due.key_id and is_active):
            raise Refused(GONE)
        draft = answers.read_draft(self._keyring, account_id=due.account_id, answer_id=due.id, sealed=due.draft)
        content = await asyncio.to_thread(
            answer_texts.compose,
            draft,
            alias=alias.address,
            message_id=f"<{due.id.hex}@{alias.domain}>",
            at=due.created_at,
        )
        return await self._filter.send(content, domain=alias.domain, sender=alias.address, to=draft.to)


def _next_try(due: DueAnswer, now: datetime) -> datetime | None:
    """Return when an answer is tried again; None if that would be too late."""
    again = now + RETRY_DELAYS[min(due.attempts, len(RETRY_DELAYS)) - 1]
    return again if again <= due.created_at + RETRY_FOR else None
