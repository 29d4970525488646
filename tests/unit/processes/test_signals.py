import threading

import pytest

from tdelta.processes import signals


def test_outside_of_a_held_block_it_is_done_at_once() -> None:
    done: list[str] = []
    signals.deliver(lambda: done.append("stop"))
    assert done == ["stop"]


def test_within_held_blocks_it_waits_for_the_end_of_the_outermost() -> None:
    done: list[str] = []
    with signals.held():
        with signals.held():
            signals.deliver(lambda: done.append("stop"))
        assert done == []
    assert done == ["stop"]


def test_what_it_raises_comes_out_of_the_block_and_nothing_stays_held() -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), signals.held():
        signals.deliver(interrupt)
    done: list[str] = []
    signals.deliver(lambda: done.append("stop"))
    assert done == ["stop"]


def test_another_thread_holds_nothing() -> None:
    done: list[str] = []
    inside, over = threading.Event(), threading.Event()

    def hold() -> None:
        with signals.held():
            inside.set()
            over.wait(10)

    thread = threading.Thread(target=hold)
    thread.start()
    inside.wait(10)
    signals.deliver(lambda: done.append("stop"))
    over.set()
    thread.join()
    assert done == ["stop"]
