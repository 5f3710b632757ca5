"""Switch automatic renewal of domains at their registrars."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from uuid import UUID

from builders.kit.db.connections import Conn
from builders.portfolio.domains import changes as domain_changes
from builders.portfolio.domains.records import ChangeSource, Domain, DomainChange, domain_patch
from builders.portfolio.registrars.connections import list_connections
from builders.portfolio.registrars.failures import RegistrarFailed, RegistrarFailure
from builders.portfolio.registrars.providers import get_profile
from builders.portfolio.registrars.records import Connection
from builders.portfolio.registrars.requests import open_adapter, record_outcome
from builders.portfolio.registrars.store import holdings as store
from builders.portfolio.registrars.store.holdings import Holder
from builders.portfolio.runs.work import Tools

MAX_PACE_WAIT_S = 5.0  # for the rate limit; later settings stay pending
# They are about one domain; any other failure would repeat for the next one.
_OF_DOMAIN = {RegistrarFailure.NOT_FOUND, RegistrarFailure.REFUSED, RegistrarFailure.MALFORMED}


class SettingState(StrEnum):
    """State of the setting of a domain at its registrar."""

    PENDING = "pending"  # to be sent
    SET = "set"
    UNCHANGED = "unchanged"  # the last listing had it already
    FAILED = "failed"
    UNSUPPORTED = "unsupported"  # the registrar's API does not offer it
    NOT_CONNECTED = "not_connected"  # no connected registrar holds the domain


@dataclass(frozen=True, slots=True, kw_only=True)
class AutoRenewSetting:
    """A setting that a domain is to have at its registrar."""

    domain_id: UUID
    domain: str
    enabled: bool
    state: SettingState
    connection: Connection | None = None
    error: str | None = None  # why it is not set, or not yet
    is_temporary: bool = False  # the error; it is worth another try

    @property
    def is_waiting(self) -> bool:
        """Return whether it is still to be sent."""
        return self.state is SettingState.PENDING or (self.state is SettingState.FAILED and self.is_temporary)

    def given_up(self) -> "AutoRenewSetting":
        """Return the setting after its last attempt."""
        error = self.error or "The registrar did not respond in time."
        is_failed = self.is_waiting
        return replace(self, state=SettingState.FAILED, error=error, is_temporary=False) if is_failed else self

    @property
    def dashboard_url(self) -> str | None:
        """Return where a person changes the setting."""
        return None if self.connection is None else get_profile(self.connection.provider).dashboard_url


async def plan_auto_renew(
    conn: Conn, *, account_id: UUID, wanted: Sequence[tuple[Domain, bool]]
) -> Sequence[AutoRenewSetting]:
    """Return the state of each wanted setting at its registrar, in the same order."""
    if not wanted:
        return ()
    connections = {each.id: each for each in await list_connections(conn, account_id=account_id)}
    holders: dict[str, list[Holder]] = {domain.domain: [] for domain, _ in wanted}
    for each in await store.list_settings(conn, account_id=account_id, domains=holders):
        if each.connection_id in connections:
            holders[each.domain].append(each)
    return [_plan(domain, enabled, holders[domain.domain], connections) for domain, enabled in wanted]


def _plan(
    domain: Domain, enabled: bool, holders: Sequence[Holder], connections: Mapping[UUID, Connection]
) -> AutoRenewSetting:
    own = [each for each in holders if each.connection_id == domain.connection_id]
    holder = next(iter((*own, *holders)), None)
    setting = AutoRenewSetting(
        domain_id=domain.id, domain=domain.domain, enabled=enabled, state=SettingState.NOT_CONNECTED
    )
    connected = domain.connection_id if holder is None else holder.connection_id
    connection = None if connected is None else connections.get(connected)
    if connection is None:
        return replace(
            setting, error="No connected registrar holds the domain: change the setting at its registrar."
        )
    setting = replace(setting, connection=connection)
    if not connection.is_enabled:
        return replace(setting, error="The connection to the registrar is disabled.")
    if not get_profile(connection.provider).capabilities.set_auto_renew:
        error = "The registrar's API does not offer it: change the setting on the registrar's website."
        return replace(setting, state=SettingState.UNSUPPORTED, error=error)
    is_set = holder is not None and holder.auto_renew is enabled
    return replace(setting, state=SettingState.UNCHANGED if is_set else SettingState.PENDING)


async def set_auto_renew(
    tools: Tools, *, settings: Sequence[AutoRenewSetting], timeout_s: float
) -> Sequence[AutoRenewSetting]:
    """Send the pending settings to the registrars, and write those that were set; return all in their order.

    Requests go to all registrars concurrently, to each for one domain after another. Settings that are not sent
    within the time stay pending. A failure of a registrar is the state of its settings, and not raised.
    """
    by_connection: dict[UUID, tuple[Connection, list[AutoRenewSetting]]] = {}
    for each in settings:
        if each.state is SettingState.PENDING and each.connection is not None:
            by_connection.setdefault(each.connection.id, (each.connection, []))[1].append(each)
    until = asyncio.get_running_loop().time() + timeout_s
    sent = await asyncio.gather(*(_set_at_one(tools, *each, until=until) for each in by_connection.values()))
    done = {each.domain_id: each for group in sent for each in group}
    return [done.get(each.domain_id, each) for each in settings]


async def _set_at_one(
    tools: Tools, connection: Connection, settings: Sequence[AutoRenewSetting], *, until: float
) -> Sequence[AutoRenewSetting]:
    """Send settings to one registrar, and write the results to the inventory and to the domains."""
    result, failure = list[AutoRenewSetting](), None
    try:
        async with asyncio.timeout_at(until):
            adapter = await open_adapter(tools, connection, max_wait_s=MAX_PACE_WAIT_S)
            for setting in settings:
                try:
                    await adapter.set_auto_renew(setting.domain, enabled=setting.enabled)
                    result.append(replace(setting, state=SettingState.SET))
                except RegistrarFailed as failed:
                    if failed.kind not in _OF_DOMAIN:
                        raise
                    result.append(_failed(setting, failed))
    except TimeoutError:
        pass
    except RegistrarFailed as caught:
        failure = caught
    done = [each for each in result if each.state is SettingState.SET]
    async with tools.database.transaction() as conn:
        if done:
            await _write(conn, connection, done)
        if result or failure is not None:
            await record_outcome(
                conn, account_id=connection.account_id, connection_id=connection.id, failure=failure
            )
    return [*result, *(each if failure is None else _failed(each, failure) for each in settings[len(result) :])]


async def _write(conn: Conn, connection: Connection, done: Sequence[AutoRenewSetting]) -> None:
    """Write settings that the registrar has to its inventory and to the domains."""
    await store.update_settings(
        conn,
        account_id=connection.account_id,
        connection_id=connection.id,
        domains=[each.domain for each in done],
        settings=[each.enabled for each in done],
    )
    patches = {each.domain_id: domain_patch(auto_renew=each.enabled) for each in done}
    changes = [DomainChange(id=domain_id, patch=patch) for domain_id, patch in patches.items()]
    await domain_changes.change_domains(
        conn, account_id=connection.account_id, changes=changes, source=ChangeSource.REGISTRAR
    )


def _failed(setting: AutoRenewSetting, failure: RegistrarFailed) -> AutoRenewSetting:
    error = " ".join(filter(None, (str(failure), failure.hint)))
    return replace(setting, state=SettingState.FAILED, error=error, is_temporary=failure.is_temporary)
