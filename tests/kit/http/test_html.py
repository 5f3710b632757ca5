"""Small HTML pages, and which requests get one."""

import re

import pytest
from fastapi import Request

from builders.kit.http.html import STYLE, Form, page, wants_html
from tests.cast import Client

HOSTILE = "<script>alert(1)</script>\"'&{{ 7 * 7 }}"


def body(**options: object) -> str:
    """A page as text."""
    return bytes(page("Title", ["One.", "Two."], **options).body).decode()  # type: ignore[arg-type] # as a test gives them


def test_a_page_is_html_text() -> None:
    answer = page("Done", ["It is done."])
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["x-robots-tag"] == "noindex"
    assert answer.headers["referrer-policy"] == "same-origin"
    text = bytes(answer.body).decode()
    assert "<h1>Done</h1>" in text
    assert "<p>It is done.</p>" in text
    assert "<form" not in text
    assert f'<link rel="stylesheet" href="{STYLE.address}">' in text


def test_a_button_posts_its_fields() -> None:
    text = body(button=Form(action="/v1/x", label="Go on", fields={"token": "abc"}))
    assert '<form method="post" action="/v1/x">' in text
    assert '<input type="hidden" name="token" value="abc">' in text
    assert '<button type="submit">Go on</button>' in text


def test_everything_is_escaped() -> None:
    button = Form(action=HOSTILE, label=HOSTILE, fields={HOSTILE: HOSTILE})
    text = bytes(page(HOSTILE, [HOSTILE], button=button).body).decode()
    assert "<script" not in text
    assert "49" not in text.replace(STYLE.address, "")
    assert text.count("&lt;script&gt;") == 7


def test_the_policy_allows_only_the_stylesheet() -> None:
    policy = page("x").headers["content-security-policy"]
    assert policy.split("; ") == [
        "default-src 'none'",
        "style-src 'self'",
        "img-src 'self'",
        "form-action 'self'",
        "frame-ancestors 'none'",
        "base-uri 'none'",
    ]
    assert not re.search(r"<script|\son\w+=|style=|src=|url\(", body())


def test_status_and_headers_are_as_asked() -> None:
    answer = page("No", status=410, headers={"Set-Cookie": "a=b"})
    assert (answer.status_code, answer.headers["set-cookie"]) == (410, "a=b")


def test_form_fields_are_not_in_the_repr() -> None:
    assert "s3cret" not in repr(Form(action="/", label="x", fields={"token": "s3cret"}))


@pytest.mark.parametrize(
    ("accept", "wanted"),
    [
        ("text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8", True),
        ("text/html", True),
        ("TEXT/HTML; charset=utf-8", True),
        ("text/html, application/json", True),
        ("application/json;q=0.5, text/html", True),
        ("application/json, text/html;q=0.9", False),
        ("application/json, text/html", False),
        ("application/problem+json, text/html;q=0.9", False),
        ("application/json", False),
        ("*/*", False),
        ("text/*", False),
        ("text/html;q=0", False),
        ("text/html;q=0, */*", False),
        ("text/htmlx", False),
        ("", False),
        (None, False),
        (",,;q=1,\x00, text/html;q=x", True),
        ("x," * 5000, False),
    ],
)
def test_accept_decides_who_gets_a_page(accept: str | None, wanted: bool) -> None:
    headers = [] if accept is None else [(b"accept", accept.encode())]
    assert wants_html(Request({"type": "http", "headers": headers})) is wanted


def test_repeated_accept_headers_count_as_one() -> None:
    headers = [(b"accept", b"application/json;q=0.2"), (b"accept", b"text/html")]
    assert wants_html(Request({"type": "http", "headers": headers}))


async def test_the_stylesheet_may_be_kept_for_ever(anyone: Client) -> None:
    answer = await anyone.get(STYLE.address)

    assert answer.headers["content-type"] == "text/css; charset=utf-8"
    assert "immutable" in answer.headers["cache-control"]
    assert "prefers-color-scheme: dark" in answer.text


async def test_an_unknown_asset_is_404(anyone: Client) -> None:
    assert (await anyone.get("/assets/pages-0.css")).status_code == 404
