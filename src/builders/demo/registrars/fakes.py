"""The fakes of all registrars."""

from collections.abc import Mapping

from builders.demo.registrars.fake import FakeRegistrar
from builders.demo.registrars.porkbun import FakePorkbun

FAKES: Mapping[str, type[FakeRegistrar]] = {each.provider: each for each in (FakePorkbun,)}
