"""Small HTML forms: their fields, and the local path to return to after signing in.

kit/http/form_bodies.py reads the forms of the console, which are larger and can have a file.
"""

import re
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Annotated, Any
from urllib.parse import parse_qs, urlencode

from fastapi import Depends, Request

from builders.kit.errors import BodyTooLarge, Invalid, refuses
from builders.kit.http.body_limits import PUBLIC_BODY_LIMIT, too_large
from builders.kit.http.media_types import MediaTypeUnsupported, media_type_of, read_content_type, unsupported
from builders.kit.marks import Mark

MEDIA_TYPE = "application/x-www-form-urlencoded"
MAX_FIELDS = 10
KEPT_FORM = "builders.kept_form"  # key of the ASGI scope: the KeptForm of a request without a session
FORM_FIELDS = "builders.form"  # key of the ASGI scope: the fields of the form, for the page of a refusal
SIGN_IN_PATH = "/v1/auth/login"
MAX_PATH_LENGTH = 1000  # characters of a path to return to
# One slash and then no second one: a browser takes // and /\ as the start of another host's address. No space,
# control character or backslash anywhere, since browsers drop or turn some of them.
_OWN_PATH = re.compile(r"/(?!/)[!-\[\]-~]*")


def form_body(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the `openapi_extra` of a route that takes a form of this schema."""
    return {"requestBody": {"required": True, "content": {MEDIA_TYPE: {"schema": dict(schema)}}}}


_TOKEN_EXAMPLE = "d2VsbC10aGlzLWlzLW9ubHktYW4tZXhhbXBsZS10b2tlbg"  # noqa: S105 - shown in the document
TOKEN_FORM_BODY: Mapping[str, Any] = form_body(
    {
        "type": "object",
        "required": ["token"],
        "properties": {"token": {"type": "string", "minLength": 1, "description": "The token of the link."}},
        "examples": [{"token": _TOKEN_EXAMPLE}],
    }
)


def read_fields(request: Request, raw: bytes) -> dict[str, str]:
    """Return the first value of each field without empty ones, and store them for an error page.

    Raise Invalid, and BodyTooLarge above PUBLIC_BODY_LIMIT: the escapes of a large body take long.
    """
    if len(raw) > PUBLIC_BODY_LIMIT:
        raise too_large(PUBLIC_BODY_LIMIT)
    try:
        form = parse_qs(raw.decode("utf-8", "replace"), max_num_fields=MAX_FIELDS)
    except ValueError:
        raise Invalid(("body",), f"A form has at most {MAX_FIELDS} fields.", "too_many_fields") from None
    if "\0" in "".join(chain(form, *form.values())):
        raise Invalid(("body",), "Text must not contain the character NUL (%00).", "nul_character")
    request.scope[FORM_FIELDS] = fields = {name: values[0] for name, values in form.items()}
    return fields


@refuses(BodyTooLarge, MediaTypeUnsupported)
async def form_fields(request: Request) -> Mapping[str, str]:
    """Return the fields of the form in the request. Raise Invalid, MediaTypeUnsupported."""
    raw, content_type = await request.body(), read_content_type(request)
    if raw and media_type_of(content_type) != MEDIA_TYPE:
        raise unsupported(content_type, [MEDIA_TYPE])
    return read_fields(request, raw)


FormFields = Annotated[Mapping[str, str], Depends(form_fields)]


def form_token(fields: FormFields) -> str:
    """Return the token in the form. Raise Invalid."""
    token = fields.get("token")
    if not token:
        raise Invalid(("body", "token"), "Field required", "missing")
    return token


FormToken = Annotated[str, Depends(form_token)]


@dataclass(frozen=True, slots=True)
class KeptForm:
    """Where a person returns after signing in, and what became of the form that they sent."""

    path: str
    note: str


class FormKeeper(Mark):
    """For `dependencies` of a form: keeps what was typed when the session has ended."""

    __slots__ = ("keep",)

    def __init__(self, keep: Callable[[Request], Coroutine[Any, Any, KeptForm | None]]) -> None:
        self.keep = keep


def local_path(text: str | None) -> str | None:
    """Return the text if it is a path of this service, else None."""
    if text is None or len(text) > MAX_PATH_LENGTH or not _OWN_PATH.fullmatch(text):
        return None
    return text


def sign_in_url(return_to: str | None) -> str:
    """Return the path of the sign-in page, which returns to `return_to`."""
    return f"{SIGN_IN_PATH}?{urlencode({'return_to': return_to})}" if return_to else SIGN_IN_PATH
