import pytest
from hypothesis import given
from hypothesis import strategies as st

from tdelta.driver.agents.load_agents import segments


@given(st.data(), st.integers(1, 64))
def test_every_connection_is_one_agents_and_no_agent_has_two_more_than_another(
    data: st.DataObject, agents: int
) -> None:
    connections = data.draw(st.integers(agents, 300))
    made = segments(connections, agents)
    assert [place for one in made for place in range(one.first, one.last)] == list(range(connections))
    counts = {one.connections for one in made}
    assert len(made) == agents
    assert max(counts) - min(counts) <= 1
    assert {one.of for one in made} == {connections}


@pytest.mark.parametrize("agents", [0, 4])
def test_an_agent_without_a_connection_is_refused(agents: int) -> None:
    with pytest.raises(ValueError, match="3 connections"):
        segments(3, agents)
