"""Signing in without a password: a one-time code and a link, mailed to the account's address.

Whether an address has an account is not to be learned here. A request writes a row and defers a job, and looks
nobody up; the job makes a code for every address alike, and mails it where there is somebody. A wrong code then
meets the same rows in the same statements, whoever's address it was tried with.
"""

import hmac
import re
import secrets
from datetime import timedelta
from typing import NamedTuple, NoReturn
from urllib.parse import urlencode
from uuid import UUID

from procrastinate import JobContext

from builders.identity import addresses, sessions
from builders.identity.accounts import kept_form
from builders.identity.records import MailedCode, MailedLink, SessionKind, SignedIn
from builders.identity.store import accounts as account_store, codes as store, sessions as session_store
from builders.kit.db.connections import Conn, Database
from builders.kit.errors import TokenInvalid
from builders.kit.http import forms
from builders.kit.http.visitors import truncate_address
from builders.kit.jobs import queue
from builders.kit.process import log
from builders.kit.process.secret_keys import Keyring
from builders.kit.process.settings import Settings
from builders.kit.values import clock, ids
from builders.mail import service as mail
from builders.mail.records import SignInCode

CODE_LIFE = timedelta(minutes=15)
# Wrong tries of one code count for each client network, so that nobody uses up the victim's tries from elsewhere,
# and over all networks. A code is one of 28^8 = 3.8e11. An attacker with any number of networks has 50 tries of a
# code and 20 codes in a day (`Cap.in_all`): 1,000 guesses a day at an address, of which one succeeds in a million
# years (1,000 * 365 / 3.8e11 = 1e-6 in a year). A link has 256 bits, and tries do not count against it: it stays
# good when the tries of its code are used up.
MOST_TRIES = 5
MOST_TRIES_IN_ALL = 50


class Cap(NamedTuple):
    """How many codes are mailed to one address within a time."""

    within: timedelta
    in_all: int
    to_strangers: int  # for networks from which nobody has signed in lately; the rest waits for the holder's own
    to_network: int  # for one network, so that no single one uses up what strangers share


CAPS = (
    Cap(within=timedelta(minutes=15), in_all=5, to_strangers=4, to_network=3),
    Cap(within=timedelta(days=1), in_all=20, to_strangers=14, to_network=8),
)
KNOWN_FOR = timedelta(days=90)  # that sessions are kept beyond their end
MOST_KNOWN = 200
KEPT = timedelta(days=1) + CODE_LIFE  # what was asked for that long ago was made within the day at most
PRUNED_AT_ONCE = 10_000

# Without vowels, so that no code is a word, and without what is read as something else: 0 1 I L O.
ALPHABET = "23456789BCDFGHJKMNPQRSTVWXYZ"
LENGTH = 8  # characters: 38 bits, of which five tries in a quarter of an hour leave enough
_CODE, _TOKEN = "sign-in code", "sign-in token"  # purposes of the keyring

_log = log.get_logger()


async def request_code(conn: Conn, *, email: str, client: str = "", return_to: str | None = None) -> None:
    """Have a code sent to the address, if an account has it; the same work if none has.

    `client` is the address that the request comes from. The link of the message leads back to the path `return_to`
    of this service.
    """
    sign_in_id = ids.new()
    await store.insert_request(
        conn,
        sign_in_id=sign_in_id,
        address=kept_form(email),
        network=_network(client),
        return_to=return_to,
        now=clock.now(),
    )
    await queue.defer(conn, mail_code, sign_in_id=str(sign_in_id))


@queue.app.task(name="identity.mail_code", retry=queue.RETRY, pass_context=True)
async def mail_code(context: JobContext, sign_in_id: str) -> None:
    """Makes the code that somebody asked for, and mails it where there is an account."""
    async with queue.database(context).transaction() as conn:
        await _make(conn, queue.keyring(context), queue.settings(context), UUID(sign_in_id))


async def _make(conn: Conn, keyring: Keyring, settings: Settings, sign_in_id: UUID) -> None:
    now = clock.now()
    request = await store.lock_request(conn, sign_in_id=sign_in_id, since=now - CODE_LIFE)
    if request is None:
        return
    address, network = request.address, request.requested_from
    account = await account_store.find_account(conn, email=address)
    if await _is_capped(conn, address=address, network=network, account_id=account.id if account else None):
        _log.warning("too_many_sign_in_codes", address=mail.mask(address))
        return
    code, token = "".join(secrets.choice(ALPHABET) for _ in range(LENGTH)), secrets.token_urlsafe(32)
    made = await store.make_code(
        conn,
        sign_in_id=sign_in_id,
        account_id=None if account is None else account.id,
        code_hash=keyring.hash_token(_CODE, f"{sign_in_id} {code}"),
        token_hash=keyring.hash_token(_TOKEN, token),
        expires_at=now + CODE_LIFE,
        now=now,
    )
    if not made:
        return
    await store.end_older(conn, sign_in_id=sign_in_id, address=address, now=now)
    if account is not None:
        letter = SignInCode(
            code=f"{code[:4]}-{code[4:]}",
            link=_link(settings, token, request.return_to),
            minutes=int(CODE_LIFE.total_seconds() // 60),
        )
        await mail.send(
            conn, keyring=keyring, account_id=account.id, to=address, letter=letter, expires_at=now + CODE_LIFE
        )


def _link(settings: Settings, token: str, return_to: str | None) -> str:
    query = {"token": token} | ({"return_to": return_to} if return_to else {})
    return f"{settings.url}{forms.SIGN_IN_PATH}?{urlencode(query)}"


async def _is_capped(conn: Conn, *, address: str, network: str, account_id: UUID | None) -> bool:
    """Return whether enough codes were made; then the newest one, and its link, stay good."""
    now = clock.now()
    known = set[str]()
    if account_id is not None:
        found = await session_store.list_addresses(
            conn, account_id=account_id, since=now - KNOWN_FOR, limit=MOST_KNOWN
        )
        known = set(map(_network, found))
    for cap in CAPS:
        in_all, of_network, of_strangers = await store.count_made(
            conn, address=address, network=network, known=known, since=now - cap.within
        )
        is_free = network in known or of_strangers < cap.to_strangers
        if in_all >= cap.in_all or of_network >= cap.to_network or not is_free:
            return True
    return False


def _network(client: str | None) -> str:
    """Return the network that counts as one client; empty where the address is not known."""
    return truncate_address(client or "") or ""


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
        found = await _find_by_code(database, keyring, proof, network=_network(address))
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


async def _find_by_code(database: Database, keyring: Keyring, proof: MailedCode, *, network: str) -> store.SignIn:
    async with database.transaction() as conn:
        found = await store.try_code(
            conn,
            address=kept_form(proof.email),
            network=network,
            most=MOST_TRIES,
            most_in_all=MOST_TRIES_IN_ALL,
            now=clock.now(),
        )
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
