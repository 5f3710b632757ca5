"""What every room stands on and what names no room."""
