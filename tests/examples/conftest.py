"""Fixtures: the service as `script/server` starts it."""

from tests.docs.conftest import demo, registrars

__all__ = ["demo", "registrars"]
