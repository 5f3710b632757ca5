import pytest

from tests.architecture.source import ROOT, Source, sources


@pytest.fixture(scope="module")
def codebase() -> list[Source]:
    """Return every file of the service; for one module of tests, since so many objects slow down others."""
    return list(sources(ROOT / "src", "builders"))
