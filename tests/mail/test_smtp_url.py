"""Parsing of BUILDERS_SMTP_URL."""

import re

import pytest

from builders.mail.transports import SmtpServer, parse_url


@pytest.mark.parametrize(
    ("url", "host", "port", "tls"),
    [
        ("smtp://mx.example", "mx.example", 587, "required"),
        ("smtp://mx.example:25/", "mx.example", 25, "required"),
        ("smtp://mx.example:25?starttls=optional", "mx.example", 25, "optional"),
        ("smtp://mx.example?starttls=never", "mx.example", 587, "never"),
        ("smtp://u:p@mx.example", "mx.example", 587, "required"),
        ("smtp://localhost:1025", "localhost", 1025, "never"),
        ("smtp://127.0.0.1:1025", "127.0.0.1", 1025, "never"),
        ("smtp://[::1]:1025", "::1", 1025, "never"),
        ("smtp://u:p@127.0.0.1:25?starttls=never", "127.0.0.1", 25, "never"),
        ("smtp://localhost?starttls=required", "localhost", 587, "required"),
        ("smtps://mx.example", "mx.example", 465, "implicit"),
        ("smtps://u:p@mx.example:2465", "mx.example", 2465, "implicit"),
    ],
)
def test_a_url_is_parsed(url: str, host: str, port: int, tls: str) -> None:
    found = parse_url(url)
    assert (found.host, found.port, found.tls) == (host, port, tls)


def test_user_and_password_are_unescaped_and_not_shown() -> None:
    found = parse_url("smtp://us%40er:p%2Fa%3Ass@mx.example")
    assert (found.user, found.password) == ("us@er", "p/a:ss")
    assert "p/a" not in repr(found)
    assert parse_url("smtp://mx.example").user is None
    assert isinstance(found, SmtpServer)


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("http://mx.example", "write smtp://"),
        ("mx.example:25", "write smtp://"),
        ("smtp://", "write smtp://"),
        ("smtp://u:s3cret/x@mx.example", "must be a number"),
        ("smtp://u:s3cret#@mx.example", "must be a number"),
        ("smtp://mx.example/path", "write smtp://"),
        ("smtp://mx.example:x", "must be a number"),
        ("smtp://[mx", "brackets"),
        ("smtp://mx.example?starttls=yes", "required, optional or never"),
        ("smtp://mx.example?tls=1", "not tls"),
        ("smtps://mx.example?starttls=required", "always encrypted"),
        ("smtp://u:s3cret@mx.example?starttls=never", "unencrypted"),
    ],
)
def test_an_invalid_url_is_refused_without_showing_the_password(url: str, said: str) -> None:
    with pytest.raises(ValueError, match=re.escape(said)) as raised:
        parse_url(url)
    assert "s3cret" not in str(raised.value)
