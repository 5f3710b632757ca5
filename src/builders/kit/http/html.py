"""Small pages for people whose browser followed a link of ours: no script, no cookie, no file but the icon."""

import base64
import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from types import MappingProxyType

from fastapi import Request, Response
from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
from starlette.types import Scope

from builders.kit.http import forms

_jinja = Environment(
    loader=PackageLoader("builders.kit.http"),
    autoescape=select_autoescape(),
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_page = _jinja.get_template("page.html")


def _policy(content: str) -> str:
    """What a browser may do with a page: show it in the style that stands in it."""
    style = content.partition("<style>")[2].partition("</style>")[0]
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    return (
        f"default-src 'none'; style-src 'sha256-{digest}'; img-src 'self'; form-action 'self'; "
        "frame-ancestors 'none'; base-uri 'none'"
    )


# Of every answer that is private and is a page or JSON by `Accept`.
NEGOTIATED: Mapping[str, str] = MappingProxyType({"Cache-Control": "no-store", "Vary": "Accept"})
_HEADERS = {
    **NEGOTIATED,
    "Content-Security-Policy": _policy(
        _page.render(title="", alert=None, paragraphs=(), button=None, links=(), note=None)
    ),
    "X-Robots-Tag": "noindex",
    # Nothing to others; without it a browser says `Origin: null` of what a button posts (Fetch, 3.2).
    "Referrer-Policy": "same-origin",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Input:
    """A field that a person fills in."""

    name: str
    label: str
    kind: str = "text"  # the type of an HTML input
    autocomplete: str = "off"
    value: str = ""
    hint: str | None = None
    max_length: int = 254


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """A button that posts to an address of ours, with the fields before it."""

    action: str
    label: str
    fields: Mapping[str, str] = field(default_factory=dict, repr=False)  # sent along, unseen
    inputs: Sequence[Input] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """A way on from a page."""

    href: str
    label: str


_FORM = forms.MEDIA_TYPE.encode()
HOME_LINK = Link(href="/", label="Home")


def page(
    title: str,
    paragraphs: Sequence[str] = (),
    *,
    alert: str | None = None,
    button: Form | None = None,
    links: Sequence[Link] = (),
    note: str | None = None,
    status: int = 200,
    headers: Mapping[str, str] | None = None,
) -> Response:
    """A page of text with at most one form; everything in it is escaped.

    `alert` says above the form what was wrong with it, `note` stands small at the end.
    """
    content = _page.render(title=title, alert=alert, paragraphs=paragraphs, button=button, links=links, note=note)
    return Response(content, status, {**_HEADERS, **(headers or {})}, "text/html; charset=utf-8")


def rendered_page(content: str, *, headers: Mapping[str, str] | None = None) -> Response:
    """A page that a room has written from a template of its own, with one style and no script."""
    own = {"Content-Security-Policy": _policy(content)}
    return Response(content, 200, {**_HEADERS, **own, **(headers or {})}, "text/html; charset=utf-8")


def wants_html(request: Request) -> bool:
    """Whether the request asks for a page rather than for JSON, as browsers do and programs do not.

    `text/html` must be named (RFC 9110, 12.5.1), and with no less weight, or as much and earlier, than JSON.
    """
    return preferred_media_type(request, "text/html") == "text/html"


def is_browser_navigation(scope: Scope) -> bool:
    """Whether a person's browser shows the answer: it prefers a page, and it opened an address or sent a form.

    A browser sends no key and no bearer token by itself. Programs do, and some of them name `text/html` in every
    request (HttpURLConnection of Java).
    """
    sent = dict(scope["headers"])
    if b"x-api-key" in sent or b"authorization" in sent:
        return False
    if scope["method"] == "POST" and not sent.get(b"content-type", _FORM).lower().startswith(_FORM):
        return False
    return scope["method"] in {"GET", "HEAD", "POST"} and wants_html(Request(scope))


def preferred_media_type(request: Request, *others: str) -> str | None:
    """Which of these media types the request asks for rather than for JSON; None: for JSON, or it does not say."""
    sent = [value for name, value in request.scope["headers"] if name == b"accept"]
    return _preferred(b",".join(sent)[:1024], others)


@lru_cache(maxsize=256)  # few are different
def _preferred(accept: bytes, others: tuple[str, ...]) -> str | None:
    found = _weights(accept)
    json = max(found.get("application/json", (0.0, 0)), found.get("application/problem+json", (0.0, 0)))
    best = max(others, key=lambda name: found.get(name, (0.0, 0)))
    weight = found.get(best, (0.0, 0))
    return best if weight[0] > 0 and (weight > json or json[0] == 0) else None


def _weights(accept: bytes) -> Mapping[str, tuple[float, int]]:
    """Of each media type that is named, and its place, the first highest."""
    found: dict[str, tuple[float, int]] = {}
    for at, part in enumerate(accept.decode("latin-1").split(",")):
        name, _, rest = part.strip().lower().partition(";")
        found.setdefault(name.strip(), (_weight(rest), -at))
    return found


def _weight(parameters: str) -> float:
    weight = re.search(r"(?:^|;)\s*q\s*=\s*([01](?:\.\d{0,3})?)\s*(?:;|$)", parameters)
    return float(weight[1]) if weight else 1.0
