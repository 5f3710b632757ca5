"""What a handler may ask for besides the caller and a connection: write it as the type of a parameter."""

from typing import Annotated

from fastapi import Depends, Request

from builders.kit.crypto import Keyring
from builders.kit.settings import Settings


def keyring(request: Request) -> Keyring:
    """The keyring of the process."""
    found: Keyring = request.app.state.keyring
    return found


def settings(request: Request) -> Settings:
    """The settings of the process."""
    found: Settings = request.app.state.settings
    return found


def address(request: Request) -> str:
    """Where the request comes from: the client's address, or empty when the server does not say."""
    return request.client.host if request.client else ""


Keys = Annotated[Keyring, Depends(keyring)]
Config = Annotated[Settings, Depends(settings)]
Address = Annotated[str, Depends(address)]
