import pytest

from tests.kit.outbound.receivers import forget_authorities


@pytest.fixture(autouse=True)
def _authorities(monkeypatch: pytest.MonkeyPatch) -> None:
    forget_authorities(monkeypatch)
