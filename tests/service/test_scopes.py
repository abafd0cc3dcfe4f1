"""Tokens: what they permit, and that nobody makes one without the owner's."""

import pytest

from bestchannel.errors import InputError
from bestchannel.service.scopes import Tokens

OWNER = "0123456789abcdefghij"


def test_each_token_permits_what_it_was_made_for():
    tokens = Tokens(OWNER)
    own, view = tokens.scope(OWNER), tokens.scope(tokens.made_for("view"))
    some, any_ = tokens.scope(tokens.made_for("sense", ["q3", "ü, ä.b"])), tokens.scope(tokens.made_for("sense"))
    assert own.owns
    assert own.views
    assert own.senses("q3")
    assert view.views
    assert not view.owns
    assert not view.senses("q3")
    assert not some.views
    assert [some.senses(channel) for channel in ("q3", "ü, ä.b", "q")] == [True, True, False]
    assert any_.senses("whatever")


def test_tokens_last_as_long_as_the_owners_and_no_longer():
    made = Tokens(OWNER).made_for("sense", ["q3"])
    assert Tokens(OWNER).scope(made).senses("q3")
    assert Tokens(OWNER + "k").scope(made) is None
    assert Tokens().owner != Tokens().owner


@pytest.mark.parametrize("change", [("sense.", "view."), ("sense.", "own."), (".", ".."), ("W", "X")])
def test_a_token_that_was_changed_is_none(change):
    made = Tokens(OWNER).made_for("sense", ["q3"])
    changed = made.replace(*change, 1)
    assert changed != made
    assert Tokens(OWNER).scope(changed) is None


@pytest.mark.parametrize(
    "owner", ["short", "x" * 5000, "with a space here ok?", "dots.dots.dots.dots", "ünïcödeünïcödeünïcöde"]
)
def test_a_token_that_is_short_or_no_part_of_an_address_is_refused(owner):
    with pytest.raises(InputError, match="the token must"):
        Tokens(owner)
