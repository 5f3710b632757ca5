"""The public interface of parking revenue."""

from builders.portfolio.parking.exports import (
    stream_csv as stream_csv,
)
from builders.portfolio.parking.planning import (
    plan_own_revenue as plan_own_revenue,
    plan_revenue as plan_revenue,
)
from builders.portfolio.parking.report import (
    get_report as get_report,
    select_revenue as select_revenue,
)
from builders.portfolio.parking.revenue import (
    record_revenue as record_revenue,
)
