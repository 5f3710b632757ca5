"""The public interface of registrars."""

from builders.portfolio.registrars.adapter import (
    bounded as bounded,
    classify as classify,
)
from builders.portfolio.registrars.auto_renew import (
    AutoRenewSetting as AutoRenewSetting,
    SettingState as SettingState,
    plan_auto_renew as plan_auto_renew,
    set_auto_renew as set_auto_renew,
)
from builders.portfolio.registrars.changes import (
    disconnect as disconnect,
    save_connection as save_connection,
)
from builders.portfolio.registrars.connections import (
    ensure_manual_connection as ensure_manual_connection,
    find_connection as find_connection,
    get_connection as get_connection,
    list_connections as list_connections,
    lock_connected as lock_connected,
    open_adapter as open_adapter,
    record_outcome as record_outcome,
)
from builders.portfolio.registrars.credentials import reseal_credentials as reseal_credentials
from builders.portfolio.registrars.drift import (
    detect_drift as detect_drift,
    expect_departure as expect_departure,
)
from builders.portfolio.registrars.errors import (
    PROVIDER_REFUSALS as PROVIDER_REFUSALS,
    ChargeLimit as ChargeLimit,
    ConnectionAmbiguous as ConnectionAmbiguous,
    ConnectionLimit as ConnectionLimit,
    InventoryLimit as InventoryLimit,
    NotConnected as NotConnected,
    ProviderNotFound as ProviderNotFound,
    RunNotFound as RunNotFound,
    failure_of as failure_of,
    problem_of as problem_of,
)
from builders.portfolio.registrars.failures import (
    RegistrarFailed as RegistrarFailed,
    RegistrarFailure as RegistrarFailure,
)
from builders.portfolio.registrars.importing import (
    import_inventory as import_inventory,
    read_inventory as read_inventory,
)
from builders.portfolio.registrars.inventory import (
    delete_inventory as delete_inventory,
    find_holdings as find_holdings,
    list_inventory as list_inventory,
    list_leaving as list_leaving,
    list_snapshots as list_snapshots,
)
from builders.portfolio.registrars.inventory_limits import is_sandbox as is_sandbox
from builders.portfolio.registrars.inventory_records import (
    Holding as Holding,
    InventorySource as InventorySource,
    Snapshot as Snapshot,
)
from builders.portfolio.registrars.listing import list_registrars as list_registrars
from builders.portfolio.registrars.matching import cleaned as cleaned, cleaned_transfer as cleaned_transfer
from builders.portfolio.registrars.places import take_place as take_place
from builders.portfolio.registrars.providers import get_profile as get_profile
from builders.portfolio.registrars.reconcile import get_reconcile_report as get_reconcile_report
from builders.portfolio.registrars.run_records import (
    PartError as PartError,
    PartState as PartState,
    Run as Run,
    RunKind as RunKind,
    RunPart as RunPart,
    RunState as RunState,
)
from builders.portfolio.registrars.runs import (
    JOBS as JOBS,
    PartLost as PartLost,
    advance_part as advance_part,
    begin_part as begin_part,
    find_earlier_part as find_earlier_part,
    finish_part as finish_part,
    get_run as get_run,
    part_error as part_error,
    prune_runs as prune_runs,
    start_run as start_run,
    state_after as state_after,
    wait_for_run as wait_for_run,
)
from builders.portfolio.registrars.syncing import (
    abandon_part as abandon_part,
    publish_failure as publish_failure,
    refresh_inventory as refresh_inventory,
    schedule_syncs as schedule_syncs,
    sync_part as sync_part,
)
