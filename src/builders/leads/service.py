"""The public interface of leads. All leads belong to the vendor, so the functions take no account."""

from builders.leads.lifecycle import (
    bounce as bounce,
    confirm as confirm,
    create as create,
    erase as erase,
    expire as expire,
    find_unused_link as find_unused_link,
    list_all as list_all,
    list_newest as list_newest,
    unsubscribe as unsubscribe,
    unsubscribe_link as unsubscribe_link,
)
