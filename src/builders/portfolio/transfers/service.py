"""The public interface of transfers."""

from builders.portfolio.transfers.rules import (
    COLUMNS as COLUMNS,
    describe_rules as describe_rules,
)
