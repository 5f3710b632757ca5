"""The public interface of the profile."""

from builders.profile.onboarding import (
    list_missing as list_missing,
    record_step as record_step,
)
from builders.profile.profiles import (
    get as get,
    list_time_zones as list_time_zones,
    update as update,
)
from builders.profile.verification import (
    begin_verification as begin_verification,
    confirm as confirm,
    find_unused_link as find_unused_link,
    get_verification as get_verification,
    prune as prune,
    resend as resend,
)
