"""Pictures: what they say, and that they come out the same."""

import sys

import pytest
from growth import figure_growth, growth
from z_vs_bsc import figure_z_vs_bsc, z_vs_bsc

from bestchannel.errors import MissingExtraError
from bestchannel.paper import fig1_rows, fig2_rows
from bestchannel.report.figures import BLUE, figure_1, figure_2, picture


def texts(figure):
    ax = figure.axes[0]
    legends = [child for child in ax.get_children() if hasattr(child, "get_texts")]
    return [text.get_text() for legend in legends for text in legend.get_texts()]


def test_figure_1_has_the_four_settings_and_its_factor():
    figure = figure_1(fig1_rows())
    assert len(texts(figure)) == 4
    assert "10^{10}" in figure.axes[0].get_ylabel()


def test_figure_2_names_the_true_owners_of_its_curves():
    figure = figure_2(fig2_rows(), break_even=True)
    # The curve proportional to k - 1 is MedianChanEl's, drawn in blue; 0.7 of the legend is 0.6.
    blue = next(line for line in figure.axes[0].lines if line.get_color() == BLUE)
    assert blue.get_ydata()[0] == 178708122
    assert texts(figure)[:2] == ["MedianChanEl", "NaiveChanSel"]
    assert any("0.6" in text for text in texts(figure))
    assert not any("0.7" in text for text in texts(figure))


def test_growth_figure_is_labelled_with_its_slopes():
    curve = growth("naive", "delta", seed=1)
    assert texts(figure_growth([curve])) == [
        f"NaiveChanSel: runs {curve.slope:.2f}, theorem {curve.expression_slope:.2f}"
    ]


@pytest.mark.parametrize(("kind", "start"), [("png", b"\x89PNG"), ("svg", b"<?xml")])
def test_equal_figures_have_equal_bytes(kind, start):
    first, second = (picture(figure_z_vs_bsc(z_vs_bsc()), kind) for _ in range(2))
    assert first.startswith(start)
    assert first == second


def test_missing_matplotlib_is_said_with_the_way_out(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingExtraError, match=r'drawing a figure needs .*pip install "bestchannel\[plots\]"'):
        figure_1(fig1_rows())
