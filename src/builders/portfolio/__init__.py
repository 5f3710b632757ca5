"""The portfolio: a wing with rooms and floors of its own."""
