"""Time zones of the tests: of half and quarter hours, at the date line, and with clock changes at midnight."""

from zoneinfo import ZoneInfo

from hypothesis import strategies

NAMES = (
    *("UTC", "Europe/Berlin", "America/New_York", "America/Los_Angeles", "Asia/Kolkata", "Asia/Kathmandu"),
    *("Australia/Lord_Howe", "Australia/Adelaide", "Pacific/Kiritimati", "Pacific/Chatham", "Pacific/Pago_Pago"),
    *("Etc/GMT+12", "Asia/Beirut", "Africa/Cairo", "America/Santiago", "America/St_Johns", "America/Havana"),
)
ZONES = strategies.sampled_from([ZoneInfo(each) for each in NAMES])
