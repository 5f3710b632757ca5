import hashlib
import re
import zlib
from functools import reduce
from uuid import UUID, uuid4

from hypothesis import given, strategies as st

from builders.identity import keys
from builders.identity.records import KeyKind
from tests.cast import Client
from tests.identity.make import status

KINDS = st.sampled_from(KeyKind)
ACCOUNT = uuid4()


def number(text: str) -> int:
    """What a text in base 62 stands for, worked out apart from the code under test."""
    return reduce(lambda sum_, char: sum_ * 62 + keys.ALPHABET.index(char), text, 0)


@given(KINDS, st.uuids() | st.sampled_from([UUID(int=0), UUID(int=2**128 - 1)]))
def test_a_minted_key_reads_as_it_was_written(kind: KeyKind, account_id: UUID) -> None:
    minted = keys.generate_secret(kind, account_id)

    assert keys.parse_secret(minted.text) == minted
    assert re.fullmatch(rf"svc_{kind}_[0-9A-Za-z]{{12}}_[0-9A-Za-z]{{60}}", minted.text)
    assert minted.account_id == account_id
    assert minted.text.startswith(f"{minted.prefix}_")
    assert minted.text.endswith(minted.last4)
    assert minted.digest == hashlib.sha256(minted.text.encode()).digest()


def test_a_key_of_no_possible_account_is_refused() -> None:
    text = keys.generate_secret(KeyKind.LIVE, UUID(int=2**128 - 1)).text
    body = text[:22] + keys.ALPHABET[-1] + text[23:-6]

    assert keys.parse_secret(body + keys.checksum(body)) is None


@given(KINDS)
def test_the_last_six_characters_are_the_crc_of_all_before(kind: KeyKind) -> None:
    text = keys.generate_secret(kind, ACCOUNT).text

    assert number(text[-6:]) == zlib.crc32(text[:-6].encode())


def test_two_keys_share_nothing_that_is_random() -> None:
    minted = [keys.generate_secret(KeyKind.LIVE, ACCOUNT) for _ in range(1000)]

    assert len({key.prefix for key in minted}) == 1000
    assert len({key.digest for key in minted}) == 1000


def test_every_character_of_the_alphabet_is_used() -> None:
    drawn = "".join(keys.generate_secret(KeyKind.TEST, ACCOUNT).text[-38:-6] for _ in range(100))

    assert set(drawn) == {*keys.ALPHABET}


def test_every_change_of_one_character_is_noticed() -> None:
    text = keys.generate_secret(KeyKind.LIVE, ACCOUNT).text
    changed = [
        text[:at] + char + text[at + 1 :]
        for at in range(len(text))
        for char in f"{keys.ALPHABET}_-é٣"
        if char != text[at]
    ]

    assert len(changed) > 60 * len(text)
    assert [each for each in changed if keys.parse_secret(each)] == []


def test_every_character_lost_doubled_or_swapped_is_noticed() -> None:
    text = keys.generate_secret(KeyKind.TEST, ACCOUNT).text
    places = range(len(text))
    lost = [text[:at] + text[at + 1 :] for at in places]
    doubled = [text[:at] + text[at] + text[at:] for at in places]
    swapped = [text[:at] + text[at : at + 2][::-1] + text[at + 2 :] for at in places]

    assert [each for each in (*lost, *doubled, *swapped) if each != text and keys.parse_secret(each)] == []


def test_a_test_key_does_not_pass_for_a_live_one() -> None:
    assert keys.parse_secret(keys.generate_secret(KeyKind.TEST, ACCOUNT).text.replace("_test_", "_live_")) is None


@given(st.text() | st.from_regex(keys._SECRET, fullmatch=True))
def test_any_other_text_is_not_a_key(text: str) -> None:
    assert keys.parse_secret(text) is None


def test_no_repr_contains_the_secret() -> None:
    minted = keys.generate_secret(KeyKind.LIVE, ACCOUNT)

    assert minted.text not in repr(minted)
    assert minted.digest.hex() not in repr(minted)
    assert repr(minted.digest) not in repr(minted)


async def test_a_typo_is_refused_without_a_look_up(stranded: Client) -> None:
    good = keys.generate_secret(KeyKind.LIVE, ACCOUNT).text
    typo = good[:30] + ("a" if good[30] != "a" else "b") + good[31:]

    assert await status(stranded, good) == 503  # nobody can say whether it is known
    assert await status(stranded, typo) == 401
    assert await status(stranded, "nonsense") == 401
