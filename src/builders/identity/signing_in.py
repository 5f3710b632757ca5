"""Signing in without a password: a one-time code and a link, mailed to the account's address.

Whether an address has an account is not to be learned here. A request writes a row and defers a job, and looks
nobody up; the job makes a code for every address alike, and mails it where there is somebody. A wrong code then
meets the same rows in the same statements, whoever's address it was tried with.
"""

import hmac
import re
import secrets
from datetime import timedelta
from typing import NoReturn
from urllib.parse import urlencode
from uuid import UUID

from procrastinate import JobContext

from builders.identity import addresses, sessions
from builders.identity.accounts import kept_form
from builders.identity.records import MailedCode, MailedLink, SessionKind, SignedIn
from builders.identity.store import accounts as account_store
from builders.identity.store import codes as store
from builders.kit import clock, forms, ids, jobs, log
from builders.kit.crypto import Keyring
from builders.kit.db import Conn, Database
from builders.kit.errors import TokenInvalid
from builders.kit.settings import Settings
from builders.mail import service as mail
from builders.mail.records import SignInCode

LIFE = timedelta(minutes=15)
MOST_TRIES = 5  # of one code
MOST_CODES = ((5, timedelta(minutes=15)), (20, timedelta(days=1)))  # for one address, within
KEPT = timedelta(days=1) + LIFE  # what was asked for that long ago was made within the day at most
PRUNED_AT_ONCE = 10_000

# Without vowels, so that no code is a word, and without what is read as something else: 0 1 I L O.
ALPHABET = "23456789BCDFGHJKMNPQRSTVWXYZ"
LENGTH = 8  # characters: 38 bits, of which five tries in a quarter of an hour leave enough
_CODE, _TOKEN = "sign-in code", "sign-in token"  # purposes of the keyring

_log = log.get_logger()


async def request_code(conn: Conn, *, email: str, return_to: str | None = None) -> None:
    """Has a code sent to the address, if an account has it; the same work if none has.

    The link of the message leads back to the path `return_to` of this service.
    """
    sign_in_id = ids.new()
    await store.insert_request(
        conn, sign_in_id=sign_in_id, address=kept_form(email), return_to=return_to, now=clock.now()
    )
    await jobs.defer(conn, mail_code, sign_in_id=str(sign_in_id))


@jobs.app.task(name="identity.mail_code", retry=jobs.RETRY, pass_context=True)
async def mail_code(context: JobContext, sign_in_id: str) -> None:
    """Makes the code that somebody asked for, and mails it where there is an account."""
    async with jobs.database(context).transaction() as conn:
        await _make(conn, jobs.keyring(context), jobs.settings(context), UUID(sign_in_id))


async def _make(conn: Conn, keyring: Keyring, settings: Settings, sign_in_id: UUID) -> None:
    now = clock.now()
    request = await store.lock_request(conn, sign_in_id=sign_in_id, since=now - LIFE)
    if request is None:
        return
    address = request.address
    for most, window in MOST_CODES:
        if await store.count_made(conn, address=address, since=now - window) >= most:
            _log.warning("too_many_sign_in_codes", address=mail.mask(address))
            return
    code, token = "".join(secrets.choice(ALPHABET) for _ in range(LENGTH)), secrets.token_urlsafe(32)
    account = await account_store.find_account(conn, email=address)
    made = await store.make_code(
        conn,
        sign_in_id=sign_in_id,
        account_id=None if account is None else account.id,
        code_hash=keyring.hash_token(_CODE, f"{sign_in_id} {code}"),
        token_hash=keyring.hash_token(_TOKEN, token),
        expires_at=now + LIFE,
        now=now,
    )
    if not made:
        return
    await store.end_older(conn, sign_in_id=sign_in_id, address=address, now=now)
    if account is not None:
        letter = SignInCode(
            code=f"{code[:4]}-{code[4:]}",
            link=_link(settings, token, request.return_to),
            minutes=int(LIFE.total_seconds() // 60),
        )
        await mail.send(
            conn, keyring=keyring, account_id=account.id, to=address, letter=letter, expires_at=now + LIFE
        )


def _link(settings: Settings, token: str, return_to: str | None) -> str:
    query = {"token": token} | ({"return_to": return_to} if return_to else {})
    return f"{settings.url}{forms.SIGN_IN}?{urlencode(query)}"


async def sign_in(
    database: Database,
    *,
    keyring: Keyring,
    settings: Settings,
    proof: MailedCode | MailedLink,
    address: str | None = None,
    user_agent: str | None = None,
) -> SignedIn:
    """A session for who has what was mailed; `address` is where the request comes from. Raises TokenInvalid.

    Takes the database: a try is counted in a transaction of its own, which a refusal does not take back.
    """
    if isinstance(proof, MailedCode):
        found = await _find_by_code(database, keyring, proof)
    else:
        async with database.reading() as conn:
            found = await _find_link(conn, keyring, proof.token)
    async with database.transaction() as conn:
        claimed = await store.claim(conn, sign_in_id=found.id, now=clock.now())
        if claimed is None:
            _refuse()
        account_id, email = claimed
        # Who read the message has the mailbox: that is what a confirmation would prove.
        await addresses.verify_email(conn, account_id=account_id, email=email)
        new = await sessions.open_session(
            conn,
            keyring=keyring,
            settings=settings,
            account_id=account_id,
            kind=SessionKind.LOGIN,
            address=address,
            user_agent=user_agent,
        )
        # Read before it is committed: whoever is not told of the session has not used up the code.
        standing = await sessions.get_standing(conn, account_id=account_id, session_id=new.session.id)
    return SignedIn(session=new.session, token=new.token, standing=standing)


async def _find_by_code(database: Database, keyring: Keyring, proof: MailedCode) -> store.SignIn:
    async with database.transaction() as conn:
        found = await store.try_code(conn, address=kept_form(proof.email), most=MOST_TRIES, now=clock.now())
    if found is None:
        _refuse()
    given = keyring.hashes(_CODE, f"{found.id} {_plain(proof.code)}")
    if not any(hmac.compare_digest(found.code_hash, each) for each in given):
        _refuse()
    return found


async def get_link_address(conn: Conn, *, keyring: Keyring, token: str) -> str:
    """Whom a link signs in, masked; changes nothing. Raises TokenInvalid."""
    return mail.mask((await _find_link(conn, keyring, token)).address)


async def prune_requests(database: Database) -> None:
    """Forgets requests of before KEPT."""
    before = clock.now() - KEPT
    async with database.reading() as conn:
        while await store.prune_requests(conn, before=before, batch=PRUNED_AT_ONCE) == PRUNED_AT_ONCE:
            pass


async def _find_link(conn: Conn, keyring: Keyring, token: str) -> store.SignIn:
    found = await store.find_link(conn, hashes=keyring.hashes(_TOKEN, token), now=clock.now())
    if found is None:
        _refuse()
    return found


def _refuse() -> NoReturn:
    """The one answer to every code and link that is no good."""
    raise TokenInvalid(
        "The code or link is wrong, was used, or has expired.",
        next_action="Ask for a new one with POST /v1/auth/login.",
    )


def _plain(code: str) -> str:
    """The code as it was made: people write it in lower case, with a blank or without the hyphen."""
    return re.sub(r"[\s-]", "", code).upper()
