import pytest

pytest.importorskip("matplotlib")

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
def test_every_kind_is_written_as_png_and_svg_and_the_same_twice(tmp_path, kind):
    result = hostile_names()
    for suffix, beginning in ((".png", b"\x89PNG"), (".svg", b"<?xml")):
        first, second = tmp_path / f"a{suffix}", tmp_path / f"b{suffix}"
        save(result, kind, first)
        save(result, kind, second)
        assert first.read_bytes().startswith(beginning)
        assert first.read_bytes() == second.read_bytes()


def test_the_capacities_are_drawn_at_their_estimates():
    figure = draw(decided(), "capacities")
    (ax,) = figure.axes
    assert [label.get_text() for label in ax.get_yticklabels()] == ["cable", "radio", "rope"]


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
    with pytest.raises(InputError, match=r"figure\.gif: a figure is written as \.png or \.svg"):
        save(decided(), "capacities", tmp_path / "figure.gif")
