"""The fakes of all registrars."""

from collections.abc import Mapping

from builders.demo.registrars.cloudflare import FakeCloudflare
from builders.demo.registrars.dynadot import FakeDynadot
from builders.demo.registrars.fake import FakeRegistrar
from builders.demo.registrars.gandi import FakeGandi
from builders.demo.registrars.godaddy import FakeGoDaddy
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
