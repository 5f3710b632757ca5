import pytest

from tests.architecture.source import ROOT, Source, sources


@pytest.fixture(scope="module")
def house() -> list[Source]:
    """Every file of the service; not kept for longer, since so many objects slow down whoever counts them."""
    return list(sources(ROOT / "src", "builders"))
