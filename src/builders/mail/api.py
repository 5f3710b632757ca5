"""/v1/mail/unsubscribe/{token}: where a reader ends mail of a kind, by a button or by a mail program (RFC 8058).

To open the link ends nothing: scanners of mail open links too. To post to it does, at once, without a cookie, and
whatever the body says.
"""

from typing import Annotated, Any

from fastapi import Path, Response

from builders.kit.db.connections import Tx
from builders.kit.errors import TokenInvalid, problems
from builders.kit.http import html
from builders.kit.http.dependencies import KeyringDep
from builders.kit.http.routes import BEYOND_SPEC, Router
from builders.mail import optouts, service as mail
from builders.mail.records import Topic

router = Router(prefix=optouts.PATH.rstrip("/"), tags=["mail"])
UnsubscribeToken = Annotated[str, Path(description="Token of the unsubscribe link in an email.")]
_PAGE: dict[int | str, dict[str, Any]] = {200: {"description": "A page for people.", "content": {"text/html": {}}}}
_KINDS = {
    Topic.RENEWALS: "notices about portfolios and renewals",
    Topic.WEBHOOKS: "notices about webhooks",
    Topic.LEADS: "mail that was asked for with this address",
    Topic.DESTINATIONS: "mail that asks whether to forward to it",
    Topic.NEWS: "news",
}


@router.get(
    "/{token}",
    response_class=Response,
    responses={**problems(TokenInvalid), **_PAGE},
    openapi_extra=BEYOND_SPEC,
)
async def show_unsubscribe(token: UnsubscribeToken, keyring: KeyringDep) -> Response:
    """Show the page behind the unsubscribe link of a mail; nothing ends before its button is pressed."""
    about = mail.get_subscription(keyring, token=token)
    kind, address = _KINDS[about.topic], mail.mask(about.address)
    button = html.Form(action=f"{optouts.PATH}{token}", label="Stop this mail")
    return html.page("Stop this mail?", [f"{address} will get no more {kind}."], button=button)


@router.post(
    "/{token}",
    response_class=Response,
    responses={**problems(TokenInvalid), **_PAGE},
    openapi_extra=BEYOND_SPEC,
)
async def unsubscribe(token: UnsubscribeToken, conn: Tx, keyring: KeyringDep) -> Response:
    """Unsubscribe the reader of a mail, at once (RFC 8058); can be repeated."""
    ended = await mail.unsubscribe(conn, keyring=keyring, token=token)
    return html.page("Done", [f"{mail.mask(ended.address)} gets no more {_KINDS[ended.topic]}."])
