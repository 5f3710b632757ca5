"""What each domain of a portfolio cost and earned, entry by entry."""
