"""Chunks of a closed loop: every operation once, whoever is how fast, and all agents at work to the end."""

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st

from tdelta.ray.chunks import HandOut

OPERATIONS = 20_000
SPEED = 10_000.0


@dataclass(frozen=True)
class Speed:
    """Operations in a second, and another number of them from some time of the trial's on."""

    first: float
    later: float = 0.0
    since: float = 1e9

    def ends(self, operations: int, at: float) -> float:
        before = max(0.0, self.since - at) * self.first
        if operations <= before:
            return at + operations / self.first
        return max(at, self.since) + (operations - before) / self.later


@dataclass
class Clock:
    now: float = 0.0


@dataclass
class Simulated:
    """Agents that work as the load loop does: the next chunk is asked for when the last one is begun."""

    handed: HandOut
    speeds: Sequence[Speed]
    clock: Clock
    delay: float = 0.002
    deaths: dict[int, float] = field(default_factory=dict)
    done: list[tuple[int, int]] = field(default_factory=list)
    lost: list[tuple[int, int]] = field(default_factory=list)
    ended: dict[int, float] = field(default_factory=dict)
    waited: float = 0.0

    def run(self) -> None:
        numbers = range(1, 1 + len(self.speeds))
        queues = {number: [(0.0, chunk) for chunk in self.handed.first(number)] for number in numbers}
        is_complete = self.handed.is_over
        events = [(0.0, number) for number in numbers]
        while events:
            now, number = heapq.heappop(events)
            self.ended[number] = now
            if not queues[number]:
                continue
            there, chunk = queues[number].pop(0)
            self.clock.now = begun = max(now, there)
            self.waited += begun - now
            ends = self.speeds[number - 1].ends(chunk[1] - chunk[0], begun)
            if ends > self.deaths.get(number, ends):
                self.lost += [chunk, *(left for _, left in queues[number])]
                continue
            if not queues[number] and not is_complete and (more := self.handed.next(number)) is not None:
                queues[number].append((begun + self.delay, more))
            self.done.append(chunk)
            heapq.heappush(events, (ends, number))

    @property
    def overlap(self) -> float:
        """The share of the trial in which all were at work."""
        return (min(self.ended.values()) - self.waited) / max(self.ended.values())


def simulated(
    speeds: Sequence[Speed], operations: int, connections: int = 1, seen: dict[int, float] | None = None
) -> Simulated:
    clock = Clock()
    number_of = dict.fromkeys(range(1, 1 + len(speeds)), connections)
    return Simulated(HandOut(7, 7 + operations, number_of, seen, clock=lambda: clock.now), speeds, clock)


SPEEDS = st.lists(st.floats(0.1, 10.0).map(lambda factor: Speed(SPEED * factor)), min_size=1, max_size=8)


@given(SPEEDS, st.integers(0, 3000), st.integers(1, 8), st.floats(0.0, 0.2))
def test_every_operation_is_done_once_by_however_many_agents_of_whatever_speed(
    speeds: list[Speed], operations: int, connections: int, delay: float
) -> None:
    made = simulated(speeds, operations, connections)
    made.delay = delay
    made.run()
    assert [at for first, last in sorted(made.done) for at in range(first, last)] == list(range(7, 7 + operations))
    assert made.handed.is_over


@given(SPEEDS, st.data())
def test_what_an_agent_that_dies_had_is_done_by_none_and_the_rest_once(
    speeds: list[Speed], data: st.DataObject
) -> None:
    made = simulated([Speed(SPEED), *speeds], 3000)
    dying = data.draw(st.sets(st.integers(2, 1 + len(speeds))))
    made.deaths = {number: data.draw(st.floats(0.0, 0.1)) for number in dying}
    made.run()
    handed = sorted([*made.done, *made.lost])
    assert [at for first, last in handed for at in range(first, last)] == list(range(7, 3007))


@given(st.lists(st.floats(0.25, 4.0), min_size=2, max_size=5), st.floats(0.0, 0.01))
def test_agents_whose_speed_an_earlier_trial_showed_end_together(factors: list[float], delay: float) -> None:
    seen = {number: SPEED * factor for number, factor in enumerate(factors, 1)}
    made = simulated([Speed(speed) for speed in seen.values()], len(factors) * OPERATIONS, seen=seen)
    made.delay = delay
    made.run()
    assert made.overlap >= 0.95


@given(st.lists(st.floats(0.6, 1.8), min_size=2, max_size=5), st.floats(0.0, 0.01))
def test_agents_whose_speed_is_not_known_yet_end_together(factors: list[float], delay: float) -> None:
    made = simulated([Speed(SPEED * factor) for factor in factors], len(factors) * OPERATIONS)
    made.delay = delay
    made.run()
    assert made.overlap >= 0.95


@given(st.floats(0.1, 1.9), st.floats(1.0, 4.0), st.integers(1, 7))
def test_agents_end_together_of_which_one_is_slower_from_some_time_on(slows: float, by: float, others: int) -> None:
    slowed = Speed(SPEED, SPEED / by, since=slows)
    seen = dict.fromkeys(range(1, 2 + others), SPEED)
    made = simulated([slowed, *([Speed(SPEED)] * others)], (1 + others) * OPERATIONS, seen=seen)
    made.run()
    assert made.overlap >= 0.92, "what it holds when it slows down takes it so much longer"


def test_fixed_parts_would_not_have_overlapped() -> None:
    made = simulated([Speed(SPEED), Speed(SPEED / 3)], 2 * OPERATIONS, seen={1: SPEED, 2: SPEED / 3})
    made.run()
    assert made.overlap >= 0.95
    fixed = [speed.ends(OPERATIONS, 0.0) for speed in made.speeds]
    assert min(fixed) / max(fixed) < 0.34


def test_a_chunk_has_an_operation_for_each_connection_and_no_more_than_there_are() -> None:
    handed = HandOut(0, 100, {1: 8, 2: 30})
    assert [last - first for first, last in (*handed.first(1), *handed.first(2))] == [8, 8, 30, 30]
    later = list(iter(lambda: handed.next(1), None))
    assert all(last - first >= 8 for first, last in later[:-1])
    assert (later[0][0], later[-1][1]) == (76, 100)
    assert handed.next(2) is None


def test_the_speeds_of_an_earlier_trial_set_the_first_chunks() -> None:
    handed = HandOut(0, 10_000, {1: 1, 2: 1, 3: 1}, {1: 300.0, 2: 100.0})
    (first, last), _ = handed.first(1)
    assert last - first == 250, "a third agent is taken to be as fast as the others: 300 of 600"
    (first, last), _ = handed.first(2)
    assert last - first == 83


def test_a_trial_of_a_moment_is_handed_out_at_once() -> None:
    handed = HandOut(0, 90, {1: 1, 2: 2}, {1: 10_000.0, 2: 20_000.0})
    assert (handed.first(1), handed.first(2)) == ([(0, 30)], [(30, 90)])
    assert handed.is_over


def test_a_chunk_takes_as_long_as_it_is_to_where_that_is_known() -> None:
    handed = HandOut(0, 1_000_000, {1: 1, 2: 1}, {1: 50_000.0, 2: 50_000.0}, least_seconds=2.0)
    (first, last), _ = handed.first(1)
    assert last - first == 100_000


def test_a_trial_without_operations_that_are_recorded_hands_out_nothing() -> None:
    handed = HandOut(10, 10, {1: 4})
    assert (handed.is_over, handed.first(1), handed.next(1)) == (True, [], None)
