from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

import pytest

from builders.app import Service
from builders.domains import verification
from builders.domains.verification import Dns
from tests.catalog.make import Loader
from tests.domains.make import INCLUDE, MX, settings_of
from tests.domains.nameserver import Nameserver, serving


@pytest.fixture
async def dns(service: Service, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Nameserver]:
    """Run a name server on loopback, which the service queries with short timeouts."""
    monkeypatch.setattr(verification, "Dns", partial(Dns, try_s=0.6, timeout_s=1.5))
    before = settings_of(service)
    async with serving() as server:
        service.api.state.settings = before.model_copy(
            update={
                "dns_resolvers": (server.address,),
                "mail_hosts": (MX, "mx2.builders.example"),
                "spf_include": INCLUDE,
            }
        )
        yield server
        service.api.state.settings = before


@pytest.fixture
def load(service: Service, tmp_path: Path) -> Loader:
    """Return a loader of catalog files."""
    return Loader(service, tmp_path)
