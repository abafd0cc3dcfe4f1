"""Tokens: what they permit, and that nobody makes one without the owner's."""

import contextlib
import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from bestchannel.disk import write_bytes
from bestchannel.errors import InputError
from bestchannel.service import access
from bestchannel.service.access import Revoked, Tokens

OWNER = "0123456789abcdefghij"


def test_each_token_permits_what_it_was_made_for():
    tokens = Tokens(OWNER)
    own, view = tokens.scope(OWNER), tokens.scope(tokens.made_for("view"))
    some, any_ = tokens.scope(tokens.made_for("sense", ["q3", "ü, ä.b"])), tokens.scope(tokens.made_for("sense"))
    assert own.owns
    assert own.permits("view")
    assert own.senses("q3")
    assert view.permits("view")
    assert not view.owns
    assert not view.senses("q3")
    assert not some.permits("view")
    assert [some.senses(channel) for channel in ("q3", "ü, ä.b", "q")] == [True, True, False]
    assert any_.senses("whatever")


def test_tokens_last_as_long_as_the_owners_and_no_longer():
    made = Tokens(OWNER).made_for("sense", ["q3"])
    assert Tokens(OWNER).scope(made).senses("q3")
    assert isinstance(Tokens(OWNER + "k").scope(made), str)
    assert Tokens().owner != Tokens().owner


def test_token_ends_after_its_days():
    now, tokens = time.time(), Tokens(OWNER, days=2)
    ends = [tokens.scope(tokens.made_for("view", days=days)).expires - now for days in (None, 7)]
    assert [round(end / 86_400) for end in ends] == [2, 7]
    over = tokens.made_for("view", days=-1e-4)
    assert isinstance(tokens.scope(over), str)
    assert tokens.scope(over) == "the token has expired; ask the owner for another"


def test_end_of_a_token_can_not_be_put_off():
    kind, named, end, id, seal = Tokens(OWNER).made_for("view").split(".")
    assert isinstance(Tokens(OWNER).scope(".".join([kind, named, str(int(end) + 1), id, seal])), str)


def test_revoked_token_stays_revoked_when_the_service_is_started_again(tmp_path):
    tokens = Tokens(OWNER)
    tokens.revoked = Revoked(tmp_path / "revoked")
    first, second = tokens.made_for("view"), tokens.made_for("view")
    tokens.revoked.add(tokens.scope(first).id)
    again = Tokens(OWNER)
    again.revoked = Revoked(tmp_path / "revoked")
    assert again.scope(first) == "the token was revoked; ask the owner for another"
    assert again.scope(second).permits("view")


def test_tokens_that_are_revoked_at_once_are_all_revoked(tmp_path, monkeypatch):
    revoked, both = Revoked(tmp_path / "revoked"), threading.Barrier(2)

    def slow(path, data):
        with contextlib.suppress(threading.BrokenBarrierError):
            both.wait(0.2)  # for the other, where that may write meanwhile
        write_bytes(path, data)

    monkeypatch.setattr(access, "write_bytes", slow)
    with ThreadPoolExecutor(2) as threads:
        list(threads.map(revoked.add, ["1" * 16, "2" * 16]))
    assert "1" * 16 in revoked
    assert "2" * 16 in revoked
    assert json.loads((tmp_path / "revoked").read_text()).keys() == {"1" * 16, "2" * 16}


def test_token_of_an_earlier_version_is_refused_with_a_reason():
    content = "view."
    earlier = f"{content}.{Tokens(OWNER)._seal(content)}"
    assert "an earlier version" in Tokens(OWNER).scope(earlier)


@pytest.mark.parametrize("content", ["{", "[1]", '{"0123456789abcdef": "soon"}'])
def test_list_of_revoked_tokens_that_is_damaged_is_refused_in_a_sentence(tmp_path, content):
    (tmp_path / "revoked").write_text(content)
    with pytest.raises(InputError, match="must hold the revoked tokens"):
        Revoked(tmp_path / "revoked")


@pytest.mark.parametrize("days", [0, -1, 1e9, float("nan")])
def test_days_of_tokens_must_be_some_and_not_too_many(days):
    with pytest.raises(InputError, match="tokens must be valid for more than 0"):
        Tokens(OWNER, days)


@pytest.mark.parametrize("change", [("sense.", "view."), ("sense.", "own."), (".", ".."), ("W", "X")])
def test_a_token_that_was_changed_is_none(change):
    made = Tokens(OWNER).made_for("sense", ["q3"])
    changed = made.replace(*change, 1)
    assert changed != made
    assert isinstance(Tokens(OWNER).scope(changed), str)


@pytest.mark.parametrize(
    "owner", ["short", "x" * 5000, "with a space here ok?", "dots.dots.dots.dots", "ünïcödeünïcödeünïcöde"]
)
def test_a_token_that_is_short_or_no_part_of_an_address_is_refused(owner):
    with pytest.raises(InputError, match="the token must"):
        Tokens(owner)
