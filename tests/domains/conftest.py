from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from builders.app import Service
from builders.domains import verification
from builders.domains.verification import Dns
from builders.kit.process.settings import Settings
from tests.catalog.make import Loader
from tests.domains.make import INCLUDE, MX, settings_of
from tests.domains.nameserver import Fault, Nameserver, serving

UNANSWERED = {Fault.SILENT, Fault.GARBAGE, Fault.STRANGER}


@pytest.fixture
async def dns(service: Service, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Nameserver]:
    """Run a name server on loopback, whose answers the service awaits for a short time only where none comes."""
    before = settings_of(service)
    async with serving() as server:

        def make(settings: Settings) -> Dns:
            answers = settings.dns_resolvers == (server.address,) and UNANSWERED.isdisjoint(server.faults.values())
            return Dns(settings, try_s=20, timeout_s=60) if answers else Dns(settings, try_s=0.6, timeout_s=1.5)

        monkeypatch.setattr(verification, "Dns", make)
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
