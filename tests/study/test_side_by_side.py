from pathlib import Path

from bestchannel.report.figures import picture

DOCS = Path(__file__).parents[2] / "docs"


def test_adaptive_lies_between_the_lower_bound_and_the_paper(monkeypatch):
    monkeypatch.syspath_prepend(DOCS)
    from side_by_side import figure_side_by_side, side_by_side

    rows = side_by_side(3, gaps_nats=(0.2, 0.3), k=4, runs=8)
    assert [row.gap_nats for row in rows] == [0.2, 0.3]
    for row in rows:
        assert row.lower_bound < row.adaptive <= row.adaptive_q95
        assert row.adaptive * 10**6 < row.best_chan_id
    svg = picture(figure_side_by_side(rows), "svg").decode()
    for label in ("BestChanID", "Adaptive", "T*"):
        assert label in svg
