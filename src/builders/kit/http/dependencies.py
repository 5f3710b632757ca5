"""Dependencies of handlers besides the caller and a connection: the type of a parameter requests one."""

from typing import Annotated

from fastapi import Depends, Request

from builders.kit.http.callers import optional_credentials
from builders.kit.outbound.client import Outbound
from builders.kit.process.secret_keys import Keyring
from builders.kit.process.settings import Settings


def keyring(request: Request) -> Keyring:
    """Return the keyring of the process."""
    found: Keyring = request.app.state.keyring
    return found


def settings(request: Request) -> Settings:
    """Return the settings of the process."""
    found: Settings = request.app.state.settings
    return found


def outbound(request: Request) -> Outbound:
    """Return the HTTP client of the process."""
    found: Outbound = request.app.state.outbound
    return found


def client_address(request: Request) -> str:
    """Return the address of the client; empty when it is unknown."""
    return request.client.host if request.client else ""


KeyringDep = Annotated[Keyring, Depends(keyring)]
SettingsDep = Annotated[Settings, Depends(settings)]
OutboundDep = Annotated[Outbound, Depends(outbound)]
ClientAddress = Annotated[str, Depends(client_address)]
OPTIONAL_CREDENTIALS = Depends(optional_credentials)
