"""Letters can be read in both themes: contrast by WCAG 2.1 of the colours in the style sheet."""

import re
from itertools import product

import pytest

from bestchannel.report.page import style

AA = 4.5
THEMES = [dict(re.findall(r"--(\w+): ([#\w.]+)", block)) for block in re.findall(r"\{[^{}]*--page:[^{}]*\}", style())]


def colour(code):
    return [int(code[i : i + 2], 16) / 255 for i in (1, 3, 5)]


def luminance(rgb):
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in rgb]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(a, b):
    low, high = sorted((luminance(a), luminance(b)))
    return (high + 0.05) / (low + 0.05)


def test_the_contrast_of_black_on_white_is_21():
    assert contrast([0, 0, 0], [1, 1, 1]) == pytest.approx(21.0)


def test_there_is_a_light_and_a_dark_theme_with_the_same_colours():
    light, dark = THEMES
    assert light.keys() == dark.keys()
    assert luminance(colour(light["page"])) > 0.8 > 0.1 > luminance(colour(dark["page"]))


@pytest.mark.parametrize("theme", THEMES, ids=["light", "dark"])
@pytest.mark.parametrize(("letters", "ground"), [*product(["ink", "muted", "accent", "open"], ["page", "soft"])])
def test_letters_have_the_contrast_of_aa(theme, letters, ground):
    assert contrast(colour(theme[letters]), colour(theme[ground])) >= AA


@pytest.mark.parametrize("theme", THEMES, ids=["light", "dark"])
@pytest.mark.parametrize("share", [i / 20 for i in range(21)])
def test_numbers_can_be_read_on_a_cell_of_any_shade(theme, share):
    page, full = colour(theme["page"]), colour(theme["cell"])
    opacity = share * float(theme["strength"])
    cell = [p + opacity * (a - p) for p, a in zip(page, full, strict=True)]
    assert contrast(colour(theme["ink"]), cell) >= AA
