import pytest

from builders.kit.values import texts


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        (" Ada@Example.NET ", "ada@example.net"),
        ("ada@bücher.example", "ada@xn--bcher-kva.example"),
        ("a=b?c@example.net", "a=b?c@example.net"),
        ("a?=b@example.net", "a?=b@example.net"),
    ],
)
def test_an_address_is_normalised(text: str, kept: str) -> None:
    assert texts.canonical_email(text) == kept
    assert texts.canonical_email(kept) == kept


@pytest.mark.parametrize(
    "text",
    [
        "",
        "ada",
        "ädä@example.net",
        "=?utf-8?q?=0d=0asubject=3a_pay=0d=0a=0d=0apay_here?=@evil.example",
        "=?utf-8?b?DQpCY2M6IGV2aWxAeC50ZXN0?=@evil.example",
        "a.=?us-ascii?q?b?=.c@example.net",
        "=?@example.net",
    ],
)
def test_malformed_and_ambiguous_addresses_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        texts.canonical_email(text)
