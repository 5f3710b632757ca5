"""What the button of a small page of ours posts: a form with the token of the link that opened the page."""

from collections.abc import Mapping
from typing import Annotated, Any
from urllib.parse import parse_qs

from fastapi import Depends, Request

from builders.kit.errors import INVALID, BodyTooLarge, Invalid, problems

MOST_FIELDS = 10

# The `responses` and the `openapi_extra` of a route that takes such a form.
RESPONSES: Mapping[int | str, dict[str, Any]] = {
    **problems(BodyTooLarge),
    **INVALID,
}
BODY: Mapping[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {
            "application/x-www-form-urlencoded": {
                "schema": {
                    "type": "object",
                    "required": ["token"],
                    "properties": {"token": {"type": "string", "minLength": 1}},
                    "examples": [{"token": "d2VsbC10aGlzLWlzLW9ubHktYW4tZXhhbXBsZS10b2tlbg"}],
                }
            }
        },
    }
}


async def posted_token(request: Request) -> str:
    """The token in a form (application/x-www-form-urlencoded). Raises Invalid."""
    try:
        form = parse_qs((await request.body()).decode("utf-8", "replace"), max_num_fields=MOST_FIELDS)
    except ValueError:
        raise Invalid(("body",), f"A form of more than {MOST_FIELDS} fields.", "too_many_fields") from None
    if not form.get("token"):
        raise Invalid(("body", "token"), "Field required", "missing")
    return form["token"][0]


PostedToken = Annotated[str, Depends(posted_token)]
