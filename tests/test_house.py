"""The picture of the house is that of ARCHITECTURE.md, and has the floors and rooms that the layers have."""

import sys
from pathlib import Path

import pytest

from tests.test_layers import LAYERS

DOCS = Path(__file__).parents[1] / "docs"


@pytest.fixture
def make_house(monkeypatch):
    monkeypatch.syspath_prepend(DOCS)
    yield __import__("make_house")
    del sys.modules["make_house"]


@pytest.fixture
def house(make_house):
    return make_house.House.described(make_house.ARCHITECTURE.read_text(encoding="utf-8"))


def test_picture_is_the_one_that_the_architecture_gives(make_house, house):
    assert make_house.IMAGE.read_text(encoding="utf-8") == f"{make_house.drawing(house)}\n", "make figures"


def test_floors_of_the_house_are_the_layers(house):
    assert [set(house.floors[n]) for n in range(len(LAYERS))] == LAYERS


def test_walks_of_the_house_lead_through_its_rooms(house):
    rooms = {room for floor in house.floors.values() for room in floor}
    assert len(house.walks) == 6
    assert all(walk and set(walk) <= rooms for walk in house.walks.values())
