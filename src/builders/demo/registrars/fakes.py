"""The fakes of all registrars, and those of the demo."""

from collections.abc import Collection, Mapping, Sequence
from datetime import date

from builders.demo.registrars.bills import list_purchases
from builders.demo.registrars.cloudflare import FakeCloudflare
from builders.demo.registrars.dynadot import FakeDynadot
from builders.demo.registrars.fake import FakeAccount, FakeRegistrar
from builders.demo.registrars.gandi import FakeGandi
from builders.demo.registrars.godaddy import FakeGoDaddy
from builders.demo.registrars.inventories import list_held
from builders.demo.registrars.namecheap import FakeNamecheap
from builders.demo.registrars.namecom import FakeNameCom
from builders.demo.registrars.namesilo import FakeNameSilo
from builders.demo.registrars.ovh import FakeOvh
from builders.demo.registrars.porkbun import FakePorkbun
from builders.demo.registrars.route53 import FakeRoute53
from builders.demo.registrars.spaceship import FakeSpaceship

FAKES: Mapping[str, type[FakeRegistrar]] = {
    each.provider: each
    for each in (
        FakeCloudflare,
        FakeDynadot,
        FakeGandi,
        FakeGoDaddy,
        FakeNamecheap,
        FakeNameCom,
        FakeNameSilo,
        FakeOvh,
        FakePorkbun,
        FakeRoute53,
        FakeSpaceship,
    )
}


def make_fakes(today: date, *, providers: Collection[str] = FAKES.keys()) -> Sequence[FakeRegistrar]:
    """Return fakes that hold the demo portfolio and its bills, at dates relative to `today`."""
    accounts = {name: FakeAccount(orders=[*list_purchases(name, today)]) for name in sorted(providers)}
    for provider, held in list_held(today):
        if provider in accounts:
            accounts[provider].domains.append(held)
    return [FAKES[name](account) for name, account in accounts.items()]
