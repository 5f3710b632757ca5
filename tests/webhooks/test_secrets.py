"""Validation and sealing of signing secrets; test_create and test_rotate cover how they are shown."""

import base64

import pytest
from hypothesis import given, strategies as st

from builders.kit.process.secret_keys import Keyring, Unsealable, generate_secret
from builders.kit.values import ids
from builders.webhooks import signatures
from tests.cast import Person
from tests.webhooks.make import PATH, WANTED, create

RING = Keyring([generate_secret()])


def whsec(size: int) -> str:
    return signatures.SECRET_PREFIX + base64.b64encode(bytes(range(size))).decode()


@pytest.mark.parametrize("size", [24, 32, 64])
def test_a_prefixed_secret_is_the_base64_of_its_key(size: int) -> None:
    assert signatures.find_secret_error(whsec(size)) is None
    assert signatures.key_of(whsec(size)) == bytes(range(size))


@pytest.mark.parametrize("text", ["sixteen symbols.", "x" * 256, "with blanks and äöü ✓", "0" * 16])
def test_a_secret_without_the_prefix_is_its_bytes(text: str) -> None:
    assert signatures.find_secret_error(text) is None
    assert signatures.key_of(text) == text.encode()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "fifteen symbols",
        "x" * 257,
        "sixteen\nsymbols.",
        "sixteen\x00symbols.",
        "sixteen symbols\u200b.",
        "\ud800" * 16,
        "whsec_",
        whsec(23),
        whsec(65),
        whsec(32)[:-1],
        whsec(32) + "=",
        "whsec_not base64, but long enough by far",
        "whsec_" + "-_" * 22,
    ],
)
def test_an_invalid_secret_is_refused_without_quoting_it(text: str) -> None:
    said = signatures.find_secret_error(text)
    bad = text.removeprefix(signatures.SECRET_PREFIX)
    assert said is not None
    assert len(bad) < 8 or bad not in said
    with pytest.raises(ValueError, match=r"secret|whsec_"):
        signatures.key_of(text)


@pytest.mark.parametrize(
    ("text", "is_refused"),
    [
        (" " * 20, True),
        ("\u3164" * 20, True),
        ("\u2800" * 20, True),
        ("\u034f" * 20, True),
        ("\ufe0f" * 20, True),
        ("\u0301" * 20, True),
        (" " * 13 + "seventy", True),
        (" " * 12 + "eighteen", False),
    ],
)
async def test_a_secret_of_blanks_is_refused(alice: Person, text: str, is_refused: bool) -> None:
    made = await create(alice, signing_secret="sixteen symbols.")
    answers = [
        await alice.post(PATH, json=WANTED | {"signing_secret": text}),
        await alice.post(f"{PATH}/{made['id']}/rotate-secret", json={"signing_secret": text}),
    ]

    assert [each.status_code for each in answers] == [422 if is_refused else 200] * 2
    assert all(("secret_not_allowed" in each.text) is is_refused for each in answers)


def test_a_generated_secret_is_valid_and_unique() -> None:
    made = {signatures.generate_secret() for _ in range(100)}
    assert len(made) == 100
    assert {len(signatures.key_of(each)) for each in made} == {32}


@given(st.binary(min_size=24, max_size=64))
def test_the_key_is_the_decoded_bytes(key: bytes) -> None:
    assert signatures.key_of(signatures.SECRET_PREFIX + base64.b64encode(key).decode()) == key


@given(st.text(max_size=300))
def test_any_text_has_a_key_or_an_error(text: str) -> None:
    if signatures.find_secret_error(text) is None:
        assert signatures.key_of(text)


def test_a_sealed_secret_is_unsealed_for_its_destination_alone() -> None:
    account, destination = ids.new(), ids.new()
    secret = signatures.generate_secret()
    sealed = signatures.seal_secret(RING, secret, account_id=account, destination_id=destination)

    assert signatures.unseal_secret(RING, sealed, account_id=account, destination_id=destination) == secret
    assert secret.encode() not in sealed
    for other in ((ids.new(), destination), (account, ids.new())):
        with pytest.raises(Unsealable):
            signatures.unseal_secret(RING, sealed, account_id=other[0], destination_id=other[1])
