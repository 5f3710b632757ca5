"""The registrars of the demo."""

from collections.abc import Mapping, Sequence
from datetime import date

from builders.demo.registrars import apis
from builders.demo.registrars.bills import list_held, list_purchases
from builders.demo.registrars.fake import FakeAccount, FakeRegistrar
from builders.kit.process.discovery import load_classes

# By provider, which is the name of the module.
FAKES: Mapping[str, type[FakeRegistrar]] = load_classes(apis, FakeRegistrar)  # type: ignore[type-abstract] # the classes found are concrete


def make_fakes(today: date, *, kinds: Mapping[str, type[FakeRegistrar]] = FAKES) -> Sequence[FakeRegistrar]:
    """Return fakes that hold the demo portfolio and its bills, at dates relative to `today`."""
    accounts = {name: FakeAccount(orders=[*list_purchases(name, today)]) for name in sorted(kinds)}
    for provider, held in list_held(today):
        if provider in accounts:
            accounts[provider].domains.append(held)
    return [kinds[name](account) for name, account in accounts.items()]
