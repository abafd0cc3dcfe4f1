import pytest

pytest.importorskip("matplotlib")

import bestchannel as bc
from bestchannel.errors import InputError
from bestchannel.report.figures import KINDS, draw, save
from tests.report.examples import by_the_paper, decided, hostile_names, undecided, unsensed, useless


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("result", [decided(), undecided(), useless()])
def test_every_kind_of_figure_is_drawn_of_every_kind_of_result(tmp_path, kind, result):
    save(result, kind, tmp_path / "figure.png")
    assert (tmp_path / "figure.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.filterwarnings("ignore:Glyph")  # the font of matplotlib has no Chinese
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_written_as_png_svg_and_pdf_and_the_same_twice(tmp_path, kind):
    result = hostile_names()
    for suffix, beginning in ((".png", b"\x89PNG"), (".svg", b"<?xml"), (".pdf", b"%PDF")):
        first, second = tmp_path / f"a{suffix}", tmp_path / f"b{suffix}"
        save(result, kind, first)
        save(result, kind, second)
        assert first.read_bytes().startswith(beginning)
        assert first.read_bytes() == second.read_bytes()


def test_the_capacities_are_drawn_at_their_estimates():
    figure = draw(decided(), "capacities")
    (ax,) = figure.axes
    assert [label.get_text() for label in ax.get_yticklabels()] == ["cable", "radio", "rope"]


def test_an_interval_that_is_withheld_has_no_bar():
    rows = {"few": [[9, 1], [1, 9]], "many": [[500, 500], [400, 600]]}
    drawn = draw(bc.estimate(rows), "capacities").axes[0].lines
    assert sum(line.get_alpha() == 0.3 for line in drawn) == 1  # that of the second


def test_the_candidates_end_at_one():
    (line,) = draw(decided(), "candidates").axes[0].lines
    assert line.get_ydata()[0] == 3
    assert line.get_ydata()[-1] == 1
    assert line.get_xdata()[-1] == decided().senses


@pytest.mark.parametrize(
    ("result", "kind", "sentence"),
    [
        (decided(), "portrait", "must be one of capacities, candidates"),
        (unsensed(), "capacities", "nothing has been sensed"),
        (by_the_paper(), "evidence", "naive weighs no evidence"),
    ],
)
def test_what_cannot_be_drawn_is_refused_by_name(result, kind, sentence):
    with pytest.raises(InputError, match=sentence):
        draw(result, kind)


def test_a_file_of_another_kind_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"figure\.gif: a figure is written as \.png, \.svg or \.pdf"):
        save(decided(), "capacities", tmp_path / "figure.gif")


COUNTS = {"good": [[95, 5], [5, 95]], "bad": [[70, 30], [30, 70]]}


@pytest.mark.parametrize("kind", ["capacities", "senses", "channels"])
@pytest.mark.parametrize("suffix", [".png", ".svg", ".PDF"])
def test_figures_of_an_estimate_are_written(tmp_path, kind, suffix):
    save(bc.estimate(COUNTS), kind, tmp_path / f"figure{suffix}")
    assert (tmp_path / f"figure{suffix}").stat().st_size > 1000


@pytest.mark.parametrize("kind", ["candidates", "evidence"])
def test_what_takes_a_course_is_not_drawn_of_an_estimate(kind):
    with pytest.raises(InputError, match=f"an estimate has no course, so there are no {kind} to draw"):
        draw(bc.estimate(COUNTS), kind)


def test_what_is_no_result_is_refused():
    with pytest.raises(InputError, match="an Identification or an Estimate; this is a Capacity"):
        draw(bc.capacity([[1, 0], [0, 1]]), "capacities")
