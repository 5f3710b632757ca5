"""Request and response models of a portfolio's notifications."""
