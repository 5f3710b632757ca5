"""What the sandbox answers: a file for each of plans, promotions and the status."""
