"""What is sent to the sandbox and what it answers, by example."""
