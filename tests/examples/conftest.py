"""The service as `script/server` starts it, for the examples too."""

from tests.docs.conftest import demo

__all__ = ["demo"]
