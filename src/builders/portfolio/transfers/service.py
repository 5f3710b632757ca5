"""The public interface of transfers."""

from builders.portfolio.transfers.auth_codes import (
    request_auth_code as request_auth_code,
)
from builders.portfolio.transfers.checks import (
    follow_domains as follow_domains,
    follow_leaving as follow_leaving,
    follow_transfers as follow_transfers,
)
from builders.portfolio.transfers.rules import (
    COLUMNS as COLUMNS,
    describe_rules as describe_rules,
)
from builders.portfolio.transfers.status import (
    get_report as get_report,
)
