"""The service as `script/server` starts it, for the examples too."""

from tests.docs.conftest import demo, registrars

__all__ = ["demo", "registrars"]
