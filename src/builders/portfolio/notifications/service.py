"""The door of the portfolio's notifications."""

from builders.portfolio.notifications import areas, sampling

list_catalog = areas.list_catalog
send_sample = sampling.send
send_samples = sampling.send_many
