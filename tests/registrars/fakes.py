"""The fakes of all registrars: those of the demo, and the others, which only tests need."""

from collections.abc import Mapping

from builders.demo.registrars import fakes
from builders.demo.registrars.fake import FakeRegistrar
from builders.kit.process.discovery import load_classes
from tests.registrars import apis

# By provider, which is the name of the module.
FAKES: Mapping[str, type[FakeRegistrar]] = {**fakes.FAKES, **load_classes(apis, FakeRegistrar)}  # type: ignore[type-abstract] # the classes found are concrete
