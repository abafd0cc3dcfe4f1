"""Tables whose meaning is known are read as what they are, or refused; `python -m tests.counts.second_reading` has more."""

from __future__ import annotations

from bestchannel.counts import columns
from tests.counts.second_reading import campaign

TABLES = 250


def test_no_table_is_read_wrong_and_plain_ones_are_rarely_refused():
    outcomes, plain, bad, pity = campaign(TABLES, "suite")
    assert not bad, bad[0]
    assert outcomes["not written"] <= 0.02 * TABLES
    assert len(pity) <= 0.05 * sum(plain.values()), pity[0]


def test_reader_without_the_rule_about_further_columns_is_found_out(monkeypatch):
    monkeypatch.setattr(columns, "count_column", lambda *_: None)
    _, _, bad, _ = campaign(TABLES, "suite")
    assert bad
