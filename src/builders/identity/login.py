"""Login without a password: a one-time code and a link are sent to the account's email address.

Responses and their times do not reveal whether an address has an account. A request only inserts a row and
enqueues a job. The job creates a code for every address, and sends it if there is an account. A wrong code reads
and writes the same rows with the same statements for every address.
"""

import hmac
import re
import secrets
from datetime import timedelta
from typing import NamedTuple, NoReturn
from urllib.parse import urlencode
from uuid import UUID

from builders.identity import accounts, sessions
from builders.identity.accounts import normalize_email
from builders.identity.records import Account, Client, MailedCode, MailedLink, NewSession, SessionKind
from builders.identity.store import accounts as account_store, sessions as store
from builders.kit.db.connections import Conn, Database
from builders.kit.errors import TokenInvalid
from builders.kit.http import forms
from builders.kit.http.visitors import truncate_address
from builders.kit.jobs import queue
from builders.kit.process import log
from builders.kit.process.secret_keys import Keyring
from builders.kit.process.settings import Settings
from builders.kit.values import clock, ids
from builders.mail import addresses, service as mail
from builders.mail.templates import SignInCode

MAIL_CODE = "identity.mail_code"  # the task
CODE_LIFETIME = timedelta(minutes=15)
# Wrong tries of a code are counted per client network, so that an attacker cannot use up the victim's tries, and
# in total. A code is one of 28^8 = 3.8e11. An attacker with many networks has 50 tries of each code and 20 codes
# a day (`CodeLimit.total`): 1,000 guesses a day at one address succeed with probability 1e-6 in a year
# (1,000 * 365 / 3.8e11). A link has 256 bits: its tries are not limited, and it works after those of its code are
# used up.
MAX_NETWORK_TRIES = 5
MAX_TRIES = 50


class CodeLimit(NamedTuple):
    """The maximum numbers of codes for one address within a time."""

    within: timedelta
    total: int
    unknown_networks: int  # networks without a recent login share these; known networks can use the rest
    one_network: int  # less than `unknown_networks`: one network cannot use them all


CODE_LIMITS = (
    CodeLimit(within=timedelta(minutes=15), total=5, unknown_networks=4, one_network=3),
    CodeLimit(within=timedelta(days=1), total=20, unknown_networks=14, one_network=8),
)
KNOWN_NETWORK_AGE = timedelta(days=90)  # as long as ended sessions are kept
MAX_KNOWN_ADDRESSES = 200
RETENTION = timedelta(days=1) + CODE_LIFETIME  # the longest of CODE_LIMITS, and the time to create a code
PRUNE_BATCH = 10_000

# No vowels, so that no code is a word, and none of the ambiguous 0 1 I L O.
ALPHABET = "23456789BCDFGHJKMNPQRSTVWXYZ"
CODE_LENGTH = 8  # characters, 38 bits
_CODE, _TOKEN = "sign-in code", "sign-in token"  # purposes in the keyring

_log = log.get_logger()


async def request_code(conn: Conn, *, email: str, client: Client, return_to: str | None = None) -> None:
    """Enqueue a job that sends a code to the email address if an account has it.

    The link in the message leads to the path `return_to` of this service after the login.
    """
    sign_in_id = ids.new()
    await store.insert_request(
        conn,
        sign_in_id=sign_in_id,
        address=normalize_email(email),
        network=_network(client.address),
        return_to=return_to,
        now=clock.now(),
    )
    await queue.defer(conn, MAIL_CODE, sign_in_id=str(sign_in_id))


async def send_code(conn: Conn, *, keyring: Keyring, settings: Settings, sign_in_id: UUID) -> None:
    """Create the requested code; send it if there is an account."""
    now = clock.now()
    request = await store.lock_request(conn, sign_in_id=sign_in_id, since=now - CODE_LIFETIME)
    if request is None:
        return
    address, network = request.address, request.requested_from
    account = await account_store.find_account_by_email(conn, email=address)
    if await _is_limited(conn, address=address, network=network, account=account):
        _log.warning("too_many_sign_in_codes", address=addresses.mask(address))
        return
    code, token = "".join(secrets.choice(ALPHABET) for _ in range(CODE_LENGTH)), secrets.token_urlsafe(32)
    made = await store.set_code(
        conn,
        sign_in_id=sign_in_id,
        address=address,
        account_id=None if account is None else account.id,
        code_hash=keyring.hash_token(_CODE, f"{sign_in_id} {code}"),
        token_hash=keyring.hash_token(_TOKEN, token),
        expires_at=now + CODE_LIFETIME,
        now=now,
    )
    if made and account is not None:
        query = {"token": token} | ({"return_to": request.return_to} if request.return_to else {})
        message = SignInCode(
            code=f"{code[:4]}-{code[4:]}",
            link=f"{settings.url}{forms.SIGN_IN_PATH}?{urlencode(query)}",
            minutes=int(CODE_LIFETIME.total_seconds() // 60),
        )
        await mail.send(
            conn,
            keyring=keyring,
            account_id=account.id,
            to=address,
            template=message,
            expires_at=now + CODE_LIFETIME,
        )


async def _is_limited(conn: Conn, *, address: str, network: str, account: Account | None) -> bool:
    """Return whether a limit is reached; the newest code and its link then stay valid."""
    now = clock.now()
    known = set[str]()
    if account is not None:
        found = await store.list_addresses(
            conn, account_id=account.id, since=now - KNOWN_NETWORK_AGE, limit=MAX_KNOWN_ADDRESSES
        )
        known = set(map(_network, found))
    for limit in CODE_LIMITS:
        total, of_network, of_unknown = await store.count_codes(
            conn, address=address, network=network, known=known, since=now - limit.within
        )
        has_share = network in known or of_unknown < limit.unknown_networks
        if total >= limit.total or of_network >= limit.one_network or not has_share:
            return True
    return False


def _network(client: str | None) -> str:
    """Return the network that counts as one client; empty when the address is unknown."""
    return truncate_address(client or "") or ""


async def sign_in(
    database: Database,
    *,
    keyring: Keyring,
    settings: Settings,
    proof: MailedCode | MailedLink,
    client: Client = sessions.UNKNOWN_CLIENT,
) -> NewSession:
    """Open a session with a code or a link's token. Raise TokenInvalid.

    It takes the database: the transaction that counts a try commits even if the code is refused.
    """
    if isinstance(proof, MailedCode):
        found = await _find_by_code(database, keyring, proof, network=_network(client.address))
    else:
        async with database.connection() as conn:
            found = await _find_link(conn, keyring, proof.token)
    async with database.transaction() as conn:
        claimed = await store.claim_code(conn, sign_in_id=found.id, now=clock.now())
        if claimed is None:
            _refuse()
        account_id, email = claimed
        # The person has read the message, which verifies the address.
        await accounts.verify_email(conn, account_id=account_id, email=email)
        return await sessions.open_session(
            conn,
            keyring=keyring,
            settings=settings,
            account_id=account_id,
            kind=SessionKind.LOGIN,
            client=client,
        )


async def _find_by_code(
    database: Database, keyring: Keyring, proof: MailedCode, *, network: str
) -> store.OpenCode:
    async with database.transaction() as conn:
        found = await store.try_code(
            conn,
            address=normalize_email(proof.email),
            network=network,
            max_network_tries=MAX_NETWORK_TRIES,
            max_tries=MAX_TRIES,
            now=clock.now(),
        )
    if found is None:
        _refuse()
    code = re.sub(r"[\s-]", "", proof.code).upper()
    given = keyring.hashes(_CODE, f"{found.id} {code}")
    if not any(hmac.compare_digest(found.code_hash, each) for each in given):
        _refuse()
    return found


async def get_link_address(conn: Conn, *, keyring: Keyring, token: str) -> str:
    """Return the masked email address that a link signs in; the link stays valid. Raise TokenInvalid."""
    return addresses.mask((await _find_link(conn, keyring, token)).address)


async def prune_requests(database: Database) -> None:
    """Delete requests that are older than RETENTION."""
    before = clock.now() - RETENTION
    async with database.connection() as conn:
        while await store.prune_requests(conn, before=before, batch=PRUNE_BATCH) == PRUNE_BATCH:
            pass


async def _find_link(conn: Conn, keyring: Keyring, token: str) -> store.OpenCode:
    found = await store.find_link(conn, hashes=keyring.hashes(_TOKEN, token), now=clock.now())
    if found is None:
        _refuse()
    return found


def _refuse() -> NoReturn:
    """Raise the same error for every invalid code and link."""
    raise TokenInvalid(
        "The code or link is wrong, was used, or has expired.",
        next_action="Request a new one with POST /v1/auth/login.",
    )
