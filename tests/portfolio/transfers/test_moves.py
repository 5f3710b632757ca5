"""What registrar and registry say of a transfer, and what was known before."""

from dataclasses import replace

import pytest

from builders.portfolio.domains.records import PortfolioDomainStatus, RegistryCheck
from builders.portfolio.registrars.records import HeldStatus, HeldTransfer, TransferDirection, TransferState
from builders.portfolio.transfers import states
from builders.portfolio.transfers.records import (
    CodeRequest,
    Move,
)
from tests.portfolio.transfers.make import DAY, DOMAIN, IN, NOW, OUT, REQUEST, merged, move


def test_what_was_left_out_is_kept() -> None:
    first = merged(None, move(TransferState.PENDING, started_at=None))
    assert first is not None
    assert first.started_at == NOW
    later = merged(first, move(TransferState.ACTION_REQUIRED, started_at=None), now=NOW + DAY)
    assert later is not None
    assert (later.started_at, later.ended_at) == (NOW, None)
    ended = merged(later, move(TransferState.COMPLETED, started_at=None), now=NOW + 2 * DAY)
    assert ended is not None
    assert (ended.started_at, ended.ended_at) == (NOW, NOW + 2 * DAY)
    assert merged(ended, move(TransferState.COMPLETED, started_at=None), now=NOW + 9 * DAY) == ended
    assert merged(ended, None) == ended
    history = merged(None, move(TransferState.COMPLETED))
    assert history is not None
    assert history.ended_at is None


@pytest.mark.parametrize(
    ("direction", "provider", "status", "code", "expected"),
    [
        pytest.param(OUT, "gandi", PortfolioDomainStatus.OWNED, None, False, id="an owned domain"),
        pytest.param(OUT, "gandi", PortfolioDomainStatus.OWNED, REQUEST, True, id="after a request for the code"),
        pytest.param(
            OUT,
            "gandi",
            PortfolioDomainStatus.OWNED,
            replace(REQUEST, requested_at=NOW - 61 * DAY),
            False,
            id="61 days after a request for the code",
        ),
        pytest.param(OUT, "gandi", PortfolioDomainStatus.SOLD, None, True, id="a sold domain"),
        pytest.param(
            OUT, "gandi", PortfolioDomainStatus.TRANSFERRED_OUT, None, True, id="a domain marked as transferred"
        ),
        # The registry does not name the direction.
        pytest.param(OUT, None, PortfolioDomainStatus.OWNED, None, None, id="seen at the registry"),
        pytest.param(IN, "gandi", PortfolioDomainStatus.OWNED, None, True, id="a transfer in"),
    ],
)
def test_a_transfer_that_nobody_prepared_is_unexpected(
    direction: TransferDirection,
    provider: str | None,
    status: PortfolioDomainStatus,
    code: CodeRequest | None,
    expected: bool | None,
) -> None:
    said = move(TransferState.PENDING, direction, provider)
    found = merged(None, said, domain=replace(DOMAIN, status=status), code=code)
    assert found is not None
    assert found.is_expected is expected
    later = merged(found, said, domain=replace(DOMAIN, status=PortfolioDomainStatus.SOLD), code=REQUEST)
    assert later is not None
    assert later.is_expected is expected  # decided when it was seen first


def held(direction: TransferDirection, state: TransferState) -> HeldTransfer:
    return HeldTransfer(direction=direction, state=state, status_raw=state)


@pytest.mark.parametrize(
    ("transfer", "status", "before", "expected"),
    [
        pytest.param(None, HeldStatus.ACTIVE, None, None, id="an active domain does not move"),
        pytest.param(None, HeldStatus.GONE, None, None, id="a domain that is gone without a transfer"),
        pytest.param(None, HeldStatus.TRANSFERRING_OUT, None, (OUT, TransferState.PENDING), id="leaving"),
        pytest.param(
            None,
            HeldStatus.GONE,
            move(TransferState.PENDING),
            (OUT, TransferState.COMPLETED),
            id="gone after leaving",
        ),
        pytest.param(
            None,
            HeldStatus.ACTIVE,
            move(TransferState.PENDING),
            (OUT, TransferState.CANCELLED),
            id="active again after leaving",
        ),
        pytest.param(
            None, HeldStatus.UNKNOWN, move(TransferState.PENDING), None, id="an unknown status says nothing"
        ),
        pytest.param(None, None, move(TransferState.PENDING), None, id="an unlisted domain says nothing"),
        pytest.param(
            None,
            HeldStatus.GONE,
            move(TransferState.PENDING, provider="ovh"),
            None,
            id="gone from another registrar",
        ),
        pytest.param(
            None,
            HeldStatus.ACTIVE,
            move(TransferState.PENDING, IN),
            (IN, TransferState.COMPLETED),
            id="active after a transfer in",
        ),
        pytest.param(
            held(IN, TransferState.COMPLETED),
            HeldStatus.TRANSFERRING_OUT,
            None,
            (OUT, TransferState.PENDING),
            id="leaving after an old transfer in",
        ),
        pytest.param(
            held(IN, TransferState.COMPLETED),
            HeldStatus.GONE,
            move(TransferState.PENDING),
            (OUT, TransferState.COMPLETED),
            id="gone after an old transfer in",
        ),
        pytest.param(
            held(IN, TransferState.COMPLETED),
            HeldStatus.ACTIVE,
            None,
            (IN, TransferState.COMPLETED),
            id="a completed transfer in",
        ),
        pytest.param(
            held(OUT, TransferState.PENDING),
            HeldStatus.ACTIVE,
            None,
            (OUT, TransferState.PENDING),
            id="a pending transfer outweighs the status",
        ),
        pytest.param(
            held(OUT, TransferState.CANCELLED),
            HeldStatus.ACTIVE,
            move(TransferState.PENDING),
            (OUT, TransferState.CANCELLED),
            id="a cancelled transfer outweighs the status",
        ),
    ],
)
def test_a_registrar_speaks_by_transfer_and_by_status(
    transfer: HeldTransfer | None,
    status: HeldStatus | None,
    before: Move | None,
    expected: tuple[TransferDirection, TransferState] | None,
) -> None:
    found = states.move_of_registrar("gandi", transfer=transfer, status=status, before=before, now=NOW)
    assert (None if found is None else (found.direction, found.state)) == expected


def test_a_registry_speaks_by_status_and_by_the_last_transfer() -> None:
    leaving = replace(DOMAIN, epp_statuses=["pending transfer"])
    silent = RegistryCheck(checked_at=NOW)
    said = states.move_of_registry(leaving, silent, before=None, now=NOW)
    assert said is not None
    assert (said.direction, said.state, said.provider) == (OUT, TransferState.PENDING, None)
    pending = merged(None, said)
    assert states.move_of_registry(DOMAIN, silent, before=None, now=NOW) is None
    assert states.move_of_registry(leaving, silent, before=move(TransferState.PENDING, IN), now=NOW) is None
    assert states.move_of_registry(leaving, silent, before=None, now=NOW, is_outdated=True) is None
    for transferred_at, expected in (
        (None, TransferState.CANCELLED),
        (NOW - 400 * DAY, TransferState.CANCELLED),
        (NOW + DAY, TransferState.COMPLETED),
    ):
        check = RegistryCheck(checked_at=NOW, transferred_at=transferred_at)
        ended = states.move_of_registry(DOMAIN, check, before=pending, now=NOW)
        assert ended is not None
        assert ended.state is expected
