"""The published figures, digit by digit."""

import pytest

from bestchannel.paper import fig1_rows, fig2_rows, published_fig1, published_fig2

# [EBWGW24, Fig. 1], rows of the plotted tables: (k, gap, confidence) and the total number of senses.
FIG1 = {
    (10, 0.13, 0.99): 7987161740,
    (10, 0.13, 0.90): 5976173290,
    (10, 0.13, 0.50): 4609812200,
    (20, 0.13, 0.99): 16288625600,
    (20, 0.13, 0.90): 12263195560,
    (20, 0.13, 0.50): 9527562360,
    (10, 0.08, 0.99): 21711945791,
    (10, 0.08, 0.90): 16766230444,
    (10, 0.08, 0.50): 13389619823,
    (20, 0.08, 0.99): 25357930054,
    (20, 0.08, 0.90): 19376800614,
    (20, 0.08, 0.50): 15301659150,
}

# [EBWGW24, Fig. 2], rows of the plotted tables: (algorithm, ε, δ, k) and the total number of senses. The blue
# curves are MedianChanEl and the orange ones NaiveChanSel, the legend has them the other way round; the
# curves of δ = 0.6 are labelled 0.7.
FIG2 = {
    ("median", 0.1, 0.1, 4): 178708122,
    ("median", 0.1, 0.1, 64): 3752870562,
    ("median", 0.1, 0.1, 1024): 60939469602,
    ("naive", 0.1, 0.1, 4): 149771912,
    ("naive", 0.1, 0.1, 64): 3810567424,
    ("naive", 0.1, 0.1, 1024): 84088565760,
    ("median", 0.1, 0.6, 4): 96685320,
    ("median", 0.1, 0.6, 64): 2030391720,
    ("median", 0.1, 0.6, 1024): 32969694120,
    ("naive", 0.1, 0.6, 4): 94150532,
    ("naive", 0.1, 0.6, 64): 2892341248,
    ("naive", 0.1, 0.6, 1024): 69100158976,
    ("median", 0.3, 0.1, 4): 16257984,
    ("median", 0.3, 0.1, 64): 341417664,
    ("median", 0.3, 0.1, 1024): 5543972544,
    ("naive", 0.3, 0.1, 4): 13667648,
    ("naive", 0.3, 0.1, 64): 349825024,
    ("naive", 0.3, 0.1, 1024): 7750151168,
}


@pytest.mark.parametrize(("point", "senses"), FIG1.items())
def test_figure_1_is_reproduced_to_the_last_digit(point, senses):
    assert published_fig1(*point) == senses


@pytest.mark.parametrize(("point", "senses"), FIG2.items())
def test_figure_2_is_reproduced_to_the_last_digit(point, senses):
    assert published_fig2(*point) == senses


def test_figure_1_rows_hold_the_printed_points_among_200():
    rows = {(row["k"], row["gap"], row["confidence"]): row["senses"] for row in fig1_rows()}
    # Confidence 0.50, 0.51, …, 0.99 in four settings.
    assert len(rows) == len(fig1_rows()) == 200
    assert {confidence for _, _, confidence in rows} == {percent / 100 for percent in range(50, 100)}
    assert FIG1.items() <= rows.items()


def test_figure_2_rows_hold_the_printed_points_among_54():
    rows = {(row["algorithm"], row["epsilon"], row["delta"], row["k"]): row["senses"] for row in fig2_rows()}
    # k = 4, 8, …, 1024 on six curves.
    assert len(rows) == len(fig2_rows()) == 54
    assert {k for *_, k in rows} == {4, 8, 16, 32, 64, 128, 256, 512, 1024}
    assert FIG2.items() <= rows.items()
