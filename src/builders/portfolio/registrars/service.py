"""The public interface of registrars."""

from builders.portfolio.registrars.connections import (
    ensure_manual_connection as ensure_manual_connection,
    find_connection as find_connection,
    get_connection as get_connection,
    list_connections as list_connections,
    open_adapter as open_adapter,
    record_outcome as record_outcome,
)
from builders.portfolio.registrars.credentials import reseal_credentials as reseal_credentials
from builders.portfolio.registrars.errors import (
    PROVIDER_REFUSALS as PROVIDER_REFUSALS,
    NotConnected as NotConnected,
    ProviderNotFound as ProviderNotFound,
    problem_of as problem_of,
)
from builders.portfolio.registrars.failures import (
    RegistrarFailed as RegistrarFailed,
    RegistrarFailure as RegistrarFailure,
)
from builders.portfolio.registrars.listing import list_registrars as list_registrars
from builders.portfolio.registrars.providers import get_profile as get_profile
