"""What a portfolio domain cost, earned and is worth; sales, renewals and the advice to keep or drop it."""
