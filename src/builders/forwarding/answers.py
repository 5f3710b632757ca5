"""Answers of programs to messages that a name received: who may answer, to whom, and how often.

An answer goes to the author of one message only, whom SPF or DKIM proved when it arrived. The process of the mail
filter, beside the mail server, composes, signs and sends it (answer_sender.py).
"""

import hashlib
from datetime import datetime, timedelta
from uuid import UUID

from pydantic import TypeAdapter

from builders.aliases.records import Alias
from builders.forwarding import correspondents, inbox, receptions, store
from builders.forwarding.errors import (
    AnswerLimit,
    AnswerNotAllowed,
    MessageNotFound,
    MessageUnanswerable,
    RepliesDisabled,
)
from builders.forwarding.inbox import Reader
from builders.forwarding.records import AnswerDraft, MailAnswer, MailAuthor, MailSummary
from builders.identity import accounts
from builders.identity.records import AuditAction
from builders.kit.db import account_tables
from builders.kit.db.connections import Conn
from builders.kit.limits import maximums
from builders.kit.process.secret_keys import Keyring
from builders.kit.values import clock, ids
from builders.mail.addresses import normal, untagged

MAX_OF_MESSAGE = maximums.declare(
    "answers_to_message", 3, of="message", counts="Answers of programs to a message.", code="answer_limit"
)
MAX_TO_CORRESPONDENT = maximums.declare(
    "answers_to_correspondent",
    10,
    of="correspondent",
    counts="Answers of programs of an account to a correspondent on a day, in UTC.",
    code="answer_limit",
)
MAX_ANSWERS = maximums.declare(
    "answers",
    100,
    of="account",
    counts="Answers of programs on a day, in UTC, apart from replies of people; a tenth in the first 7 days.",
    code="answer_limit",
)
NEW_FOR, NEW_PART = timedelta(days=7), 10
# Longer than its message: a record without its text.
_PURPOSE, _CORRESPONDENT = "forwarding/answers", "forwarding/answered"
_DRAFT = TypeAdapter(AnswerDraft)


async def answer(
    conn: Conn,
    *,
    keyring: Keyring,
    reader: Reader,
    alias_id: UUID,
    message_id: UUID,
    text: str | None,
    html: str | None,
) -> MailAnswer:
    """Let a text or HTML be sent to the author of a message; the same one again is the answer that exists.

    Raise MessageNotFound, AnswerNotAllowed, RepliesDisabled, MessageUnanswerable and AnswerLimit.
    """
    alias, author, summary = await _admit(conn, keyring, reader, alias_id, message_id)
    await store.lock_answers(conn, account_id=reader.account_id)
    digest = hashlib.sha256(f"{'text' if html is None else 'html'} {text or html}".encode()).digest()
    own = {"account_id": reader.account_id, "message_id": message_id}
    found = await store.find_answer(conn, **own, digest=digest)
    if found is not None:
        return found
    now, answer_id = clock.now(), ids.new()
    correspondent = keyring.hash_token(_CORRESPONDENT, normal(untagged(author.email)))
    await _require_room(conn, reader.account_id, message_id, correspondent, now)
    about = {"alias_id": str(alias.id), "message_id": str(message_id), "answer_id": str(answer_id)}
    await accounts.record_audit(
        conn, account_id=reader.account_id, actor=reader.actor, action=AuditAction.MAIL_ANSWERED, about=about
    )
    return await store.add_answer(
        conn,
        **own,
        id=answer_id,
        alias_id=alias.id,
        key_id=reader.key_id,
        digest=digest,
        correspondent=correspondent,
        day=now.date(),
        draft=_seal(keyring, reader.account_id, answer_id, _draft(author, summary, text, html)),
        now=now,
    )


def _draft(author: MailAuthor, summary: MailSummary, text: str | None, html: str | None) -> AnswerDraft:
    return AnswerDraft(
        to=author.email,
        subject=summary.subject,
        in_reply_to=summary.message_id,
        references=summary.references,
        text=text,
        html=html,
    )


def _seal(keyring: Keyring, account_id: UUID, answer_id: UUID, draft: AnswerDraft) -> bytes:
    return keyring.seal(_PURPOSE, _DRAFT.dump_json(draft), context=_context(account_id, answer_id))


async def _admit(
    conn: Conn, keyring: Keyring, reader: Reader, alias_id: UUID, message_id: UUID
) -> tuple[Alias, MailAuthor, MailSummary]:
    """Return the name that answers, the author, and what is known of the message. Raise as `answer`."""
    if reader.is_person:  # whose mail program answers
        raise MessageNotFound
    stored = await inbox.get_stored(conn, reader=reader, alias_id=alias_id, message_id=message_id)
    rule = await store.find_reception(conn, account_id=reader.account_id, alias_id=alias_id)
    if rule is None or not rule.may_reply:
        raise AnswerNotAllowed
    alias = await correspondents.find_replying(conn, account_id=reader.account_id, alias_id=alias_id)
    if alias is None:
        raise RepliesDisabled
    summary = receptions.read_summary(keyring, stored, account_id=reader.account_id)
    if summary.refusal is not None or summary.author is None:
        raise MessageUnanswerable(summary.refusal)
    return alias, summary.author, summary


async def _require_room(
    conn: Conn, account_id: UUID, message_id: UUID, correspondent: bytes, now: datetime
) -> None:
    """Raise AnswerLimit if the message, the correspondent or the account has as many answers as it may have."""
    account = await accounts.get_account(conn, account_id=account_id)
    on_day = MAX_ANSWERS if now - account.created_at >= NEW_FOR else MAX_ANSWERS // NEW_PART
    counted = await store.count_answers(
        conn, account_id=account_id, message_id=message_id, correspondent=correspondent, day=now.date()
    )
    if counted.of_message >= MAX_OF_MESSAGE:
        raise AnswerLimit(f"A message has at most {MAX_OF_MESSAGE} answers of programs.")
    tomorrow = datetime.combine(now.date() + timedelta(days=1), datetime.min.time(), now.tzinfo)
    wait_s = max(1, int((tomorrow - now).total_seconds()))
    if counted.to_correspondent >= MAX_TO_CORRESPONDENT:
        raise AnswerLimit(
            f"Programs send a correspondent at most {MAX_TO_CORRESPONDENT} answers a day.", retry_after=wait_s
        )
    if counted.on_day >= on_day:
        raise AnswerLimit(f"Programs of this account send at most {on_day} answers a day.", retry_after=wait_s)


def read_draft(keyring: Keyring, *, account_id: UUID, answer_id: UUID, sealed: bytes) -> AnswerDraft:
    """Return what is to be sent. Raise Unsealable."""
    return _DRAFT.validate_json(keyring.unseal(_PURPOSE, sealed, context=_context(account_id, answer_id)))


def _context(account_id: UUID, answer_id: UUID) -> bytes:
    return account_id.bytes + answer_id.bytes


account_tables.declare_sealed(
    "forwarding_answers", "draft", purpose=_PURPOSE, context=_context, of=("account_id", "id")
)
