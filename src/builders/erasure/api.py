"""/v1/account/erasure: people have the account erased."""

from typing import Annotated

from fastapi import Query, Request
from starlette.responses import Response

from builders.erasure import requests
from builders.erasure.errors import AccountUnsettled
from builders.erasure.records import Erasure, ErasureRequest
from builders.kit.callers import APPROVE
from builders.kit.db.connections import Reads, Tx
from builders.kit.errors import Problem, TokenInvalid, problems
from builders.kit.http import forms, html
from builders.kit.http.dependencies import KeyringDep, SettingsDep
from builders.kit.http.forms import FormToken
from builders.kit.http.routes import BEYOND_SPEC, LINK, Router
from builders.kit.limits.policies import Policy, declare, rate_limit
from builders.portfolio.team.access import reviews
from builders.portfolio.team.records import Access

router = Router(prefix="/v1/account/erasure", tags=["account"], beyond=True)
Reviewer = Annotated[Access, reviews("account:read")]
Decider = Annotated[Access, reviews(APPROVE)]
ERASE = declare(
    Policy(name="account_erasure", quota=20, window_s=86_400, by="account", counts="Requests of an erasure.")
)


@router.get("", response_model=Erasure)
async def get_erasure(access: Reviewer, conn: Reads) -> Erasure:
    """Read how far the erasure of the account is."""
    return await requests.get(conn, account_id=access.owner_id)


@router.post("", response_model=Erasure, responses=problems(AccountUnsettled), dependencies=[rate_limit(ERASE)])
async def request_erasure(access: Decider, conn: Tx, keyring: KeyringDep, settings: SettingsDep) -> Erasure:
    """Request the erasure of the account, or confirm it as a decider, having signed in lately.

    It waits 14 days. Each of its emails cancels it.
    """
    return await requests.confirm(conn, keyring=keyring, settings=settings, access=access)


@router.delete("", response_model=Erasure)
async def cancel_erasure(access: Decider, conn: Tx) -> Erasure:
    """Cancel the erasure, as a decider."""
    return await requests.cancel(conn, access=access)


@router.get(
    "/cancel", response_class=Response, responses={**problems(TokenInvalid), **html.PAGE}, dependencies=[LINK]
)
async def show_erasure_cancellation(
    request: Request,
    token: Annotated[str, Query(min_length=8, max_length=200, description="Token of the emailed link.")],
    conn: Reads,
    keyring: KeyringDep,
) -> Response:
    """Show the page of an emailed link."""
    try:
        found = await requests.get_by_link(conn, keyring=keyring, token=token)
    except TokenInvalid as refusal:
        return _refused(request, refusal)
    button = html.Form(action=requests.CANCEL_PATH, label="Keep the account", fields={"token": token})
    return html.page("Keep the account?", [_when(found)], button=button)


@router.post(
    "/cancel",
    response_class=Response,
    responses={**problems(TokenInvalid), **html.PAGE},
    openapi_extra={**BEYOND_SPEC, **forms.TOKEN_FORM_BODY},
)
async def cancel_erasure_page(request: Request, token: FormToken, conn: Tx, keyring: KeyringDep) -> Response:
    """Cancel the erasure with the button of the page."""
    try:
        await requests.cancel_by_link(conn, keyring=keyring, token=token)
    except TokenInvalid as refusal:
        return _refused(request, refusal)
    texts = ["The account is not erased.", "If you did not request this, sign in and end the other sessions."]
    return html.page("The account stays", texts, links=[html.HOME_LINK])


def _when(found: ErasureRequest) -> str:
    return (
        "Its erasure waits until enough people have confirmed it."
        if found.due_at is None
        else f"It is erased on {found.due_at:%d %B %Y} unless you keep it."
    )


def _refused(request: Request, refusal: Problem) -> Response:
    return html.refusal_page(request, refusal, "Nothing was cancelled", links=[html.HOME_LINK])
