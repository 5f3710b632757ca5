"""The number of random cases of a property test: few in the suite, many in script/fuzz."""

import os

from hypothesis import HealthCheck, settings

_LONG = os.environ.get("BUILDERS_FUZZ_EXAMPLES")


def cases(few: int) -> settings:
    """Return the settings of a test that tries so many random cases, or as many as script/fuzz says.

    A fixture is the same in all cases of a test. How long a case takes depends on what else the machine does.
    """
    unchecked = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
    return settings(max_examples=int(_LONG or few), deadline=None, suppress_health_check=unchecked)
