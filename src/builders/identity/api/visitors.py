"""Who comes to sign in: not known yet, but for where the request is from."""

from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Request

from builders.kit.http import dependencies
from builders.kit.http.credentials import AccessToken, Authorization, XApiKey
from builders.kit.http.origins import require_own_origin
from builders.kit.limits.policies import SITE_PREFIX_BITS, Policy, declare

# Each email address has a limit of its own too, in the database.
LOGIN = declare(
    Policy(
        name="login",
        quota=10,
        window_s=600,
        by="address",
        network=SITE_PREFIX_BITS,
        counts="Codes and links that are asked for.",
    )
)
REDEEM = declare(
    Policy(
        name="login_redeem",
        quota=20,
        window_s=600,
        by="address",
        network=SITE_PREFIX_BITS,
        counts="Codes and links that are redeemed.",
    )
)
LOGIN_AS = declare(
    Policy(
        name="login_as",
        quota=10,
        window_s=600,
        by="address",
        network=SITE_PREFIX_BITS,
        counts="Login-as grants that are redeemed.",
    )
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Visiting:
    """What is noted beside a session, for its holder to know it again."""

    address: str
    user_agent: str | None


def visiting(request: Request) -> Visiting:
    """Raises OriginForbidden for what another site had the browser send.

    Such a site could sign its visitor in as somebody else, who then reads what the visitor does.
    """
    require_own_origin(request, allow_missing_origin=True)
    return Visiting(address=dependencies.client_address(request), user_agent=request.headers.get("user-agent"))


def visiting_anyhow(
    request: Request,
    authorization: Authorization = None,
    x_api_key: XApiKey = None,
    svc_access_token: AccessToken = None,
) -> Visiting:
    """The same where credentials are accepted; they are not looked at."""
    del authorization, x_api_key, svc_access_token
    return visiting(request)


Visitor = Annotated[Visiting, Depends(visiting)]
AnyVisitor = Annotated[Visiting, Depends(visiting_anyhow)]
