"""`/` and `/console`: pages for people and their browsers, and the files that browsers and crawlers request."""

from datetime import timedelta
from pathlib import Path
from typing import Annotated

from fastapi import Depends, Request, Response

from builders.console import drafts, home, service
from builders.console.spaces import PREFIXES
from builders.kit.callers import Caller
from builders.kit.errors import NotFound
from builders.kit.http.callers import needs
from builders.kit.http.forms import FormKeeper
from builders.kit.http.idempotency import WITHOUT_IDEMPOTENCY
from builders.kit.http.routes import LINK, Router
from builders.kit.limits.policies import UNLIMITED
from builders.kit.process.settings import Settings
from builders.kit.values import clock

router = Router(tags=["console"])  # not in the OpenAPI document
# The calls of a page check their own scopes, and what a support session may change.
Person = Annotated[Caller, needs("account:read", support=())]
# Search engines may index the pages, but not the API.
_ROBOTS = "User-agent: *\nDisallow: /v1/\nDisallow: /public/\nDisallow: /console\nAllow: /\n"
_ICON = (Path(__file__).parent / "static" / "favicon.ico").read_bytes()
SECURITY_TXT = "/.well-known/security.txt"
_SECURITY_DAYS = 30  # until a copy of security.txt expires
_FOR_A_DAY = {"Cache-Control": "public, max-age=86400"}


@router.get("/", response_class=Response, include_in_schema=False, dependencies=[LINK])
async def show_home(request: Request) -> Response:
    """Show the start page to a browser; refer a program to the OpenAPI document."""
    return await home.show(request)


async def show_page(request: Request, caller: Person) -> Response:
    """Show a page of the console."""
    return await service.show(request, caller)


async def send_form(request: Request, caller: Person) -> Response:
    """Send a form of the console."""
    return await service.send(request, caller, request.scope["path"].rpartition("/")[2])


async def export_domains(request: Request, caller: Person) -> Response:
    """Send the domains of a view as a CSV file."""
    return await service.export(request, caller)


for _prefix in PREFIXES:
    router.add_api_route(
        f"{_prefix}/{service.EXPORT}",
        export_domains,
        methods=["GET"],
        response_class=Response,
        include_in_schema=False,
        dependencies=[LINK],
    )
    for _below in ("", "/{first}", "/{first}/{second}", "/{first}/{second}/{third}"):
        router.add_api_route(
            _prefix + _below,
            show_page,
            methods=["GET"],
            response_class=Response,
            include_in_schema=False,
            dependencies=[LINK],
        )
    router.add_api_route(
        f"{_prefix}/do/{{name}}",
        send_form,
        methods=["POST"],
        response_class=Response,
        include_in_schema=False,
        dependencies=[LINK, WITHOUT_IDEMPOTENCY, Depends(FormKeeper(drafts.keep))],
        openapi_extra={"requestBody": {"content": {}}},
    )


@router.get("/favicon.ico", response_class=Response, include_in_schema=False, dependencies=[UNLIMITED, LINK])
async def get_icon() -> Response:
    """Return the icon of the pages."""
    return Response(_ICON, 200, _FOR_A_DAY, "image/x-icon")


@router.get("/robots.txt", response_class=Response, include_in_schema=False, dependencies=[UNLIMITED, LINK])
async def get_robots() -> Response:
    """Return the rules for crawlers."""
    return Response(_ROBOTS, 200, _FOR_A_DAY, "text/plain")


@router.get(SECURITY_TXT, response_class=Response, include_in_schema=False, dependencies=[UNLIMITED, LINK])
async def get_security(request: Request) -> Response:
    """Return whom to tell about a vulnerability (RFC 9116). Raise NotFound unless the operator names a contact."""
    settings: Settings = request.app.state.settings
    if settings.security_contact is None:
        raise NotFound("The operator names no contact.")
    return Response(_write_security(settings.security_contact, settings.url), 200, _FOR_A_DAY, "text/plain")


def _write_security(contact: str, url: str) -> str:
    expires = clock.now().replace(microsecond=0) + timedelta(days=_SECURITY_DAYS)
    lines = [f"Contact: {contact if '/' in contact else f'mailto:{contact}'}", f"Expires: {expires.isoformat()}"]
    if url.startswith("https://"):  # the only web addresses that the file may have
        lines.append(f"Canonical: {url}{SECURITY_TXT}")
    return "\n".join([*lines, "Preferred-Languages: en", ""])
