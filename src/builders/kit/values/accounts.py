"""The accounts that a function reads or changes: one, or all for the operator and periodic jobs."""

from enum import Enum
from typing import Final, TypeAlias
from uuid import UUID


class AllAccounts(Enum):
    """The type of ALL_ACCOUNTS. A missing id is None, which never stands for all accounts."""

    ALL_ACCOUNTS = "all accounts"


ALL_ACCOUNTS: Final = AllAccounts.ALL_ACCOUNTS
AccountSelection: TypeAlias = UUID | AllAccounts


def selection_parameter(accounts: AccountSelection) -> UUID | None:
    """Return the parameter of a statement, in which NULL selects all accounts."""
    return None if accounts is ALL_ACCOUNTS else accounts
