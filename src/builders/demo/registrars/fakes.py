"""The fakes of all registrars."""

from collections.abc import Mapping

from builders.demo.registrars.cloudflare import FakeCloudflare
from builders.demo.registrars.fake import FakeRegistrar
from builders.demo.registrars.godaddy import FakeGoDaddy
from builders.demo.registrars.namecom import FakeNameCom
from builders.demo.registrars.porkbun import FakePorkbun

FAKES: Mapping[str, type[FakeRegistrar]] = {
    each.provider: each for each in (FakeCloudflare, FakeGoDaddy, FakeNameCom, FakePorkbun)
}
