from hypothesis import given
from hypothesis import strategies as st

from bestchannel.report.markup import lone, shown, tag, text
from tests.report.reading import Page


def test_text_is_escaped_and_markup_is_not_escaped_twice():
    inner = tag("b", "1 < 2 & 3")
    assert tag("p", inner, " > 0") == "<p><b>1 &lt; 2 &amp; 3</b> &gt; 0</p>"


def test_an_attribute_cannot_be_left_by_a_quote():
    assert tag("p", title='"><script>') == '<p title="&quot;&gt;&lt;script&gt;"></p>'


def test_a_missing_attribute_is_left_out_and_names_follow_html():
    assert lone("rect", class_="cell", fill_opacity=0.5, rx=None) == '<rect class="cell" fill-opacity="0.5"/>'


def test_controls_half_surrogates_and_turns_of_direction_become_replacement_characters():
    assert shown("a\x00b\x1b\ud800\u202ec") == "a\ufffdb\ufffd\ufffd\ufffdc"
    assert shown("é 链路 ∂\tx\ny") == "é 链路 ∂ x y"


@given(st.text(alphabet=st.characters(exclude_categories=())))
def test_any_text_can_be_encoded_and_comes_back_as_the_same_words(content):
    source = tag("p", content, title=content)
    source.encode()
    page = Page(source)
    assert (page.open, page.faults, len(page.elements)) == ([], [], 1)
    assert "".join(page.pieces) == shown(content) == page.named("p")[0]["title"]


def test_text_leaves_markup_alone():
    assert text(tag("i", "x")) == "<i>x</i>"
