"""What is recorded on a domain in all packages of the portfolio, and the removal of a domain."""
