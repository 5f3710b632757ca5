"""The public interface of renewals."""

from builders.portfolio.renewals.calendars import (
    delete_member as delete_member,
    list_calendar as list_calendar,
    list_calendar_events as list_calendar_events,
    make_calendar as make_calendar,
    revoke_calendar as revoke_calendar,
    write_calendar as write_calendar,
)
from builders.portfolio.renewals.pushes import (
    decide_and_plan as decide_and_plan,
    push_decided as push_decided,
    push_waiting as push_waiting,
)
from builders.portfolio.renewals.report import (
    find_decisions as find_decisions,
    get_report as get_report,
    list_due as list_due,
)
