"""/v1/mail/unsubscribe/{token}: unsubscribe by a button, or by one click of a mail program (RFC 8058).

GET changes nothing, because mail scanners open links too. POST unsubscribes without a cookie and with any body.
"""

from typing import Annotated, Any

from fastapi import Path, Response

from builders.kit.db.connections import Tx
from builders.kit.errors import TokenInvalid, problems
from builders.kit.http import html
from builders.kit.http.dependencies import KeyringDep
from builders.kit.http.routes import BEYOND_SPEC, LINK, Router
from builders.mail import addresses, optouts
from builders.mail.records import Topic

router = Router(prefix=optouts.PATH.rstrip("/"), tags=["mail"])
UnsubscribeToken = Annotated[str, Path(description="Token of the unsubscribe link in an email.")]
_KINDS = {
    Topic.RENEWALS: "notices about portfolios and renewals",
    Topic.WEBHOOKS: "notices about webhooks",
    Topic.LEADS: "mail that was requested with this address",
    Topic.DESTINATIONS: "requests to confirm it as a forwarding destination",
    Topic.NEWSLETTER: "newsletters",
}


_PAGE: dict[str, Any] = {
    "response_class": Response,
    "responses": {**problems(TokenInvalid), **html.PAGE},
    "openapi_extra": BEYOND_SPEC,
    "dependencies": [LINK],
}


@router.get("/{token}", **_PAGE)
async def show_unsubscribe(token: UnsubscribeToken, keyring: KeyringDep) -> Response:
    """Show the page of an unsubscribe link; its button unsubscribes."""
    about = optouts.get_subscription(keyring, token=token)
    kind, address = _KINDS[about.topic], addresses.mask(about.address)
    button = html.Form(action=f"{optouts.PATH}{token}", label="Unsubscribe")
    return html.page("Unsubscribe?", [f"{address} will no longer receive {kind}."], button=button)


@router.post("/{token}", **_PAGE)
async def unsubscribe(token: UnsubscribeToken, conn: Tx, keyring: KeyringDep) -> Response:
    """Unsubscribe the recipient of an email (RFC 8058); can be repeated."""
    ended = await optouts.unsubscribe(conn, keyring=keyring, token=token)
    return html.page(
        "Unsubscribed", [f"{addresses.mask(ended.address)} no longer receives {_KINDS[ended.topic]}."]
    )
