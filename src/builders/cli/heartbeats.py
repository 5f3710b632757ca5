"""Which child process does not respond, and when it is replaced: the rules, without processes.

Each child writes a byte a second while its loop turns. A silent child can be at fault, or the machine: a machine
without processor time, memory or disk makes several processes late at once, and killing them makes it worse. So
the rules name the machine where they can, and replace one process at a time (decision 0047).

Times are seconds of a clock that does not go back.
"""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The times of the rules in seconds; tests shorten them."""

    silent_s: float = 15.0  # without a byte: the child does not respond
    late_s: float = 2.0  # between two ticks of the supervisor: the machine was late, and no silence before counts
    other_s: float = 5.0  # without a byte of another child, in the same window: the machine may be at fault
    hold_s: float = 60.0  # in which nothing is replaced after the machine was named
    settled_s: float = 60.0  # from the first byte of a child, in which it is not replaced
    pause_s: float = 30.0  # after a replacement; doubles with each one
    max_pause_s: float = 600.0
    kill_s: float = 10.0  # from SIGTERM to SIGKILL


@dataclass(slots=True)
class Beats:
    """The first and the last byte of a child. One that has sent none is starting, and not silent."""

    first: float | None = None
    last: float = 0.0

    def hear(self, now: float) -> None:
        """Note a byte."""
        self.last = now
        if self.first is None:
            self.first = now


@dataclass(frozen=True, slots=True)
class Verdict:
    """What to do: replace this child, or name the machine on which these children are silent."""

    replace: str | None = None
    blame_machine_for: tuple[str, ...] = ()


NOTHING = Verdict()


class Heartbeats:
    """The judge of the children of a supervisor."""

    def __init__(self, now: float, limits: Limits | None = None) -> None:
        self.limits = limits or Limits()
        self._ticked = self._counts_from = now
        self._held_until = self._next_at = now
        self._held: frozenset[str] = frozenset()  # silent since the machine was named
        self._pause_s = self.limits.pause_s

    def tick(self, now: float) -> None:
        """Note that the supervisor runs; call it at least each second."""
        if now - self._ticked > self.limits.late_s:
            self._counts_from = now
        self._ticked = now

    def get_silence(self, beats: Beats, now: float) -> float:
        """Return for how long a child has been silent while the supervisor ran on time."""
        return 0.0 if beats.first is None else now - max(beats.last, self._counts_from)

    def is_silent(self, beats: Beats, now: float) -> bool:
        """Return whether a child does not respond."""
        return self.get_silence(beats, now) >= self.limits.silent_s

    def judge(self, children: Mapping[str, Beats], now: float) -> Verdict:
        """Return what to do about silent children, by name.

        After the hold, children that were silent for all of it are judged one by one: each is at fault, or no
        harm is done by the replacement of one.
        """
        late = {name for name, each in children.items() if self.get_silence(each, now) >= self.limits.other_s}
        self._held &= late
        silent = [name for name in sorted(late) if self.is_silent(children[name], now)]
        if not silent or now < self._held_until:
            return NOTHING
        if len(late) > 1 and late - self._held:
            self._held, self._held_until = frozenset(late), now + self.limits.hold_s
            return Verdict(blame_machine_for=tuple(sorted(late)))
        if now >= self._next_at:
            for name in silent:
                first = children[name].first
                if first is not None and now - first >= self.limits.settled_s:
                    return Verdict(replace=name)
        return NOTHING

    def note_replacement(self, now: float) -> None:
        """Begin the pause after a replacement; it doubles, unless the last one is long ago."""
        if now - self._next_at >= self.limits.max_pause_s:
            self._pause_s = self.limits.pause_s
        self._next_at = now + self._pause_s
        self._pause_s = min(2 * self._pause_s, self.limits.max_pause_s)


WINDOW_S = 300.0  # in which ends of a child count
MANY = 3  # ends in the window: the child keeps ending
STABLE_S = 10.0  # a child that ran for this long is restarted without a pause
WHOLE_S = 60.0  # a child that has answered for this long does not keep ending
MAX_RESTART_PAUSE_S = 10.0


class Ends:
    """The ends of a child that nobody asked for."""

    def __init__(self) -> None:
        self._at: list[float] = []
        self._failures = 0

    def note(self, now: float, *, ran_s: float) -> float:
        """Note an end; return the seconds until the child is started again."""
        self._at = [*(each for each in self._at if now - each < WINDOW_S), now][-MANY:]
        self._failures = 0 if ran_s > STABLE_S else self._failures + 1
        return 0.0 if self._failures < 2 else min(2.0 ** (self._failures - 2), MAX_RESTART_PAUSE_S)  # noqa: PLR2004 - no pause after the first failure

    def are_many(self, now: float, *, serving_since: float | None) -> bool:
        """Return whether the child keeps ending; `serving_since` is its first byte."""
        is_whole = serving_since is not None and now - serving_since >= WHOLE_S
        return not is_whole and len([each for each in self._at if now - each < WINDOW_S]) >= MANY
