from support.pairs import Pairs


class TestPostgresPairs(Pairs):
    engine = "postgres"
    counts = False
