"""Small HTML pages for people who follow a link in a browser, and the stylesheet of all pages."""

import base64
import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from fastapi import Request, Response
from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
from markupsafe import Markup
from starlette.types import Scope

from builders.kit.errors import Problem
from builders.kit.http import forms
from builders.kit.http.media_types import weights

_jinja = Environment(
    loader=PackageLoader("builders.kit.http"),
    autoescape=select_autoescape(),
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
MEDIA_TYPE = "text/html; charset=utf-8"
# The `responses` of a route that always replies with a page.
PAGE: dict[int | str, dict[str, Any]] = {200: {"description": "An HTML page.", "content": {"text/html": {}}}}
_page = _jinja.get_template("page.html")
_AFTER_SEPARATOR = re.compile(r"(?<=[@.])(?=.)")


def breakable(text: str) -> Markup:
    """Return an address that a narrow column breaks after a separator, and only then within a word."""
    return Markup("<wbr>").join(_AFTER_SEPARATOR.split(text))


ASSETS_PATH = "/assets"


class Asset(NamedTuple):
    """A file that pages load; its address changes with its content, so a browser may keep it for ever."""

    content: bytes
    media_type: str
    name: str

    @property
    def address(self) -> str:
        """Return the path from which a page loads it."""
        return f"{ASSETS_PATH}/{self.name}"


_assets: dict[str, Asset] = {}


def add_asset(name: str, media_type: str, *files: Path) -> Asset:
    """Return files as one asset that the service serves; the digest of its content becomes a part of its name."""
    content = b"".join(each.read_bytes() for each in files)
    stem, _, kind = name.partition(".")
    asset = Asset(content, media_type, f"{stem}-{hashlib.sha256(content).hexdigest()[:16]}.{kind}")
    _assets[asset.name] = asset
    return asset


def find_asset(name: str) -> Asset | None:
    """Return the asset of this name."""
    return _assets.get(name)


_FOLDER = Path(__file__).parent
_SHEETS = _FOLDER / "templates" / "colours.css", _FOLDER / "static" / "pages.css"
STYLE = add_asset("pages.css", "text/css; charset=utf-8", *_SHEETS)
SCRIPT = add_asset("public.js", "text/javascript; charset=utf-8", _FOLDER / "static" / "public.js")


def content_policy(*allowed: str) -> str:
    """Return the Content-Security-Policy of a page that loads images of this service, and what is `allowed`."""
    others = ("img-src 'self'", "form-action 'self'", "frame-ancestors 'none'", "base-uri 'none'")
    return "; ".join(("default-src 'none'", *allowed, *others))


def policy(content: str) -> str:
    """Return the Content-Security-Policy of a page of its own style, which allows only that inline style."""
    style = content.partition("<style>")[2].partition("</style>")[0]
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    return content_policy(f"style-src 'sha256-{digest}'")


# Headers of private responses that are HTML or JSON by `Accept`.
NEGOTIATED: Mapping[str, str] = MappingProxyType({"Cache-Control": "no-store", "Vary": "Accept"})
# Headers of every page.
HEADERS: Mapping[str, str] = {
    **NEGOTIATED,
    "Content-Security-Policy": content_policy("style-src 'self'"),
    "Cross-Origin-Opener-Policy": "same-origin",
    "X-Robots-Tag": "noindex",
    # `no-referrer` would make a browser send `Origin: null` with a posted form (Fetch, 3.2).
    "Referrer-Policy": "same-origin",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Input:
    """An input field of a form."""

    name: str
    label: str
    kind: str = "text"  # the type of an HTML input
    autocomplete: str = "off"
    value: str = ""
    hint: str | None = None
    max_length: int = 254


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """A form with one button, which posts to a path of this service."""

    action: str
    label: str
    fields: Mapping[str, str] = field(default_factory=dict, repr=False)  # hidden fields
    inputs: Sequence[Input] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """A link on a page."""

    href: str
    label: str


class Work(NamedTuple):
    """A form that a browser sends with a proof of work in its field `work`, for its field `email`."""

    form: Form
    period: int
    bits: int  # zeros that the hash begins with


_FORM = forms.MEDIA_TYPE.encode()
_FORMS = (_FORM, b"multipart/form-data")  # the second one contains a file
HOME_LINK = Link(href="/", label="Home")


def page(
    title: str,
    paragraphs: Sequence[str] = (),
    *,
    alert: str | None = None,
    button: Form | None = None,
    work: Work | None = None,
    choices: Sequence[Link] = (),
    links: Sequence[Link] = (),
    note: str | None = None,
    status: int = 200,
    headers: Mapping[str, str] | None = None,
) -> Response:
    """Return a page of text with at most one form; all texts are escaped.

    `choices` are links in the form of buttons below the form, for other ways to do the same. `alert` is shown
    above the form and lists its errors; `note` is small print at the end.
    """
    content = _page.render(
        style=STYLE.address,
        title=title,
        alert=alert,
        paragraphs=paragraphs,
        button=button,
        work=work,
        script=SCRIPT.address,
        choices=choices,
        links=links,
        note=note,
    )
    scripted = {"Content-Security-Policy": content_policy("script-src 'self'", "style-src 'self'")} if work else {}
    return Response(content, status, {**HEADERS, **scripted, **(headers or {})}, MEDIA_TYPE)


def refusal_page(
    request: Request, refusal: Problem, title: str, *paragraphs: str, links: Sequence[Link] = ()
) -> Response:
    """Return a refusal as a page that explains it; as a problem for a program."""
    refusal.headers |= NEGOTIATED
    if not wants_html(request):
        return refusal.response()
    texts = [refusal.detail, *paragraphs]
    return page(title, texts, links=links, status=refusal.status, headers=refusal.headers)


def rendered_page(content: str, *, headers: Mapping[str, str] | None = None) -> Response:
    """Return a page that a package has rendered from its own template, with one style and no script."""
    own = {"Content-Security-Policy": policy(content)}
    return Response(content, 200, {**HEADERS, **own, **(headers or {})}, MEDIA_TYPE)


def wants_html(request: Request) -> bool:
    """Return whether the request prefers HTML to JSON, as browsers do.

    `Accept` must name `text/html` (RFC 9110, 12.5.1) with a higher weight than JSON, or with the same one and
    earlier.
    """
    return preferred_media_type(request, "text/html") == "text/html"


def asks_for_json(request: Request) -> bool:
    """Return whether `Accept` names JSON, and prefers it to HTML.

    Of a link in a mail only such a request has an effect without a button: browsers and the scanners of mail
    accept every type.
    """
    sent = b",".join(value for name, value in request.scope["headers"] if name == b"accept")
    return weights(sent[:1024]).get("application/json", (0.0, 0))[0] > 0 and not wants_html(request)


def is_browser_navigation(scope: Scope) -> bool:
    """Return whether a browser shows the response to a person: a page was opened or a form sent.

    A browser does not send keys and bearer tokens automatically. Programs do, and some of them name `text/html` in
    every request (HttpURLConnection of Java).
    """
    sent = dict(scope["headers"])
    if b"x-api-key" in sent or b"authorization" in sent:
        return False
    if scope["method"] == "POST" and not sent.get(b"content-type", _FORM).lower().startswith(_FORMS):
        return False
    return scope["method"] in {"GET", "HEAD", "POST"} and wants_html(Request(scope))


def preferred_media_type(request: Request, *others: str) -> str | None:
    """Return which of these media types the request prefers to JSON; None when it prefers none."""
    sent = [value for name, value in request.scope["headers"] if name == b"accept"]
    return _preferred(b",".join(sent)[:1024], others)


@lru_cache(maxsize=256)  # few values differ
def _preferred(accept: bytes, others: tuple[str, ...]) -> str | None:
    found = weights(accept)
    json = max(found.get("application/json", (0.0, 0)), found.get("application/problem+json", (0.0, 0)))
    best = max(others, key=lambda name: found.get(name, (0.0, 0)))
    weight = found.get(best, (0.0, 0))
    return best if weight[0] > 0 and (weight > json or json[0] == 0) else None
