import pytest
from hypothesis import given, strategies as st

from builders.domains import txt_records
from builders.domains.records import RecordHealth

KEY = "11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo="
NAME, VALUE = "b1._domainkey.ada.example", f"v=DKIM1; k=ed25519; p={KEY}"


def dmarc(*texts: str, inherited: bool = False) -> tuple[RecordHealth, str | None]:
    return txt_records.validate_dmarc("ada.example", texts, inherited=inherited)


def dkim(*texts: str) -> tuple[RecordHealth, str | None]:
    return txt_records.validate_dkim(NAME, texts, value=VALUE)


@pytest.mark.parametrize(
    "text",
    [
        "v=DMARC1; p=none",
        "v=DMARC1;p=reject;",
        " v = DMARC1 ; P=Quarantine; sp=none; pct=50; rua=mailto:a@x.example, mailto:b@x.example!10m; adkim=s",
    ],
)
def test_a_dmarc_record_is_ok(text: str) -> None:
    assert dmarc("hello", text) == (RecordHealth.OK, None)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("v=DMARC1", "its p"),
        ("v=DMARC1; p=maybe", "its p"),
        ("v=DMARC1; p=none; sp=x", "its sp"),
        ("v=DMARC1; p=none; pct=101", "its pct"),
        ("v=DMARC1; p=none; pct=-1", "its pct"),
        ("v=DMARC1; p=none; rua=https://x.example", "rua"),
        ("v=DMARC1; p=none; p=reject", "not a list"),
        ("v=DMARC1; p=none;; rua=mailto:a@x.example", "not a list"),
    ],
)
def test_a_dmarc_record_without_effect_is_wrong(text: str, said: str) -> None:
    health, next_action = dmarc(text)

    assert health is RecordHealth.WRONG
    assert said in (next_action or "")


def test_several_dmarc_records_are_wrong() -> None:
    assert dmarc("v=DMARC1; p=none", "v=DMARC1; p=none")[0] is RecordHealth.WRONG


@pytest.mark.parametrize("text", ["v=DMARC10; p=none", "p=none; v=DMARC1", "V=dmarc1; p=none", "hello"])
def test_without_a_record_dmarc_is_missing_unless_inherited(text: str) -> None:
    assert dmarc(text) == (
        RecordHealth.MISSING,
        'Set a TXT record at _dmarc.ada.example with the value "v=DMARC1; p=none".',
    )
    assert dmarc(text, inherited=True) == (RecordHealth.OK, None)


@pytest.mark.parametrize("text", [f"v=DKIM1; k=ed25519; p={KEY}", f"p={KEY}", f"k=RSA; p={KEY[:10]} {KEY[10:]}"])
def test_our_key_is_ok(text: str) -> None:
    assert dkim(text) == (RecordHealth.OK, None)


@pytest.mark.parametrize(
    "texts",
    [
        ("v=DKIM1; p=",),  # revoked
        ("v=DKIM2; p=abcd",),
        ("k=dsa; p=abcd",),
        ("p=not base64!",),
        ("hello",),
        ("p=QUJD",),  # another's
        (f"p={KEY}", f"p={KEY}"),
    ],
)
def test_another_key_or_no_key_is_wrong(texts: tuple[str, ...]) -> None:
    health, next_action = dkim(*texts)

    assert health is RecordHealth.WRONG
    assert f'Set a TXT record at {NAME} with the value "{VALUE}".' in (next_action or "")


def test_no_dkim_record_is_missing() -> None:
    assert dkim()[0] is RecordHealth.MISSING


@given(st.lists(st.text(max_size=300) | st.text(max_size=200).map(lambda text: f"v=DMARC1; {text}"), max_size=3))
def test_any_text_is_parsed_without_an_error(texts: list[str]) -> None:
    dmarc(*texts)
    dkim(*texts)


VALUES = st.text(st.characters(codec="ascii", exclude_characters=";=", categories=("L", "N", "P")), max_size=20)
NAMES = st.from_regex(r"[a-z][a-z0-9_]{0,9}", fullmatch=True)


@given(st.dictionaries(NAMES, VALUES, min_size=1), st.sampled_from(["", ";", " ; "]))
def test_parsed_tags_equal_the_written_ones(wanted: dict[str, str], end: str) -> None:
    text = " ; ".join(f"{name} = {value}" for name, value in wanted.items()) + end

    assert txt_records.parse_tags(text) == wanted
