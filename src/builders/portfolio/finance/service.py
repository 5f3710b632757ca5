"""The public interface of finance."""

from builders.portfolio.finance.advice import (
    list_recommendations as list_recommendations,
    record_traffic as record_traffic,
)
from builders.portfolio.finance.changes import change_finance as change_finance
from builders.portfolio.finance.overview import get_finance as get_finance
from builders.portfolio.finance.recommendation import (
    AdviceReason as AdviceReason,
    Recommendation as Recommendation,
    RecommendationInputs as RecommendationInputs,
    RenewalAdvice as RenewalAdvice,
    recommend as recommend,
)
from builders.portfolio.finance.renewals import (
    find_duplicate as find_duplicate,
    record_renewal as record_renewal,
)
from builders.portfolio.finance.summary import get_summary as get_summary
