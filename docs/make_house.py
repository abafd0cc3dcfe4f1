"""Draw the house of ARCHITECTURE.md, its floors and who walks through which rooms: python docs/make_house.py."""

from __future__ import annotations

import re
import textwrap
from dataclasses import dataclass
from pathlib import Path

from bestchannel.report.markup import Html, lone, tag, trusted

ARCHITECTURE = Path(__file__).parents[1] / "ARCHITECTURE.md"
IMAGE = Path(__file__).parent / "images" / "house.svg"

DOORS = {
    "Python": "import bestchannel",
    "a shell": "bestchannel VERB",
    "a browser, an instrument": "http://…/runs",
}
"""Who comes in, and what they say."""

FLOORS = {
    5: "what people see",
    4: "experiments",
    3: "decisions",
    2: "questions and proofs",
    1: "mathematics",
    0: "foundations",
}

PURPOSES = {
    "cli": "verbs and tables",
    "service": "runs over a network",
    "report": "one HTML page",
    "sensing": "what answers",
    "runs": "durable: a log",
    "study": "many runs, plans",
    "paper": "its figures",
    "testing": "contracts",
    "verification": "an own check",
    "record": "the shape of a run",
    "policies": "where to sense, when to stop",
    "lower_bound": "what any policy must spend",
    "questions": "what is asked",
    "counts": "files become counts",
    "evidence": "bets: e-values",
    "intervals": "counts become answers",
    "channels": "one channel, families",
    "information": "entropy, divergence",
    "capacity": "certified brackets",
    "errors": "refusals",
    "arrays": "input checked",
    "native": "loops in C",
    "disk": "bytes",
    "display": "text",
    "json_text": "JSON",
    "process": "version",
    "promises": "words",
}
"""Every room in some words."""

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#aa4499", "#b07d00", "#6a51a3")
"""Of the walks."""

WIDTH, LEFT, FLOOR_HEIGHT, GAP = 1000, 120, 74, 8
TOP, DOT, DOTS_APART = 118, 7, 15
LEGEND_LINE, LEGEND_SIGNS = 22, 115

STYLE = """
text { font: 12px system-ui, sans-serif; fill: #222 } .name { font: 600 13px ui-monospace, monospace }
.quiet { fill: #666 } .room { fill: #fff; stroke: #999 } .floor { fill: #f3f1ec } .roof { fill: #e4dfd3 }
.number { fill: #fff; font: 600 10px system-ui, sans-serif; text-anchor: middle } .middle { text-anchor: middle }
@media (prefers-color-scheme: dark) {
  text { fill: #ddd } .quiet { fill: #a5a5a5 } .room { fill: #1b1f24; stroke: #666 }
  .floor { fill: #262b31 } .roof { fill: #343a41 }
}
"""


@dataclass(frozen=True)
class House:
    """The rooms of every floor, from the top, and the rooms that each walk visits, in the order of the first visit."""

    floors: dict[int, list[str]]
    walks: dict[str, list[str]]

    @classmethod
    def described(cls, text: str) -> House:
        """The house of the architecture's text: its layers, and its walks by module."""
        floors = {
            int(number): [name.rstrip("/") for name in names.split()]
            for names, number in re.findall(r"^  ([a-z_/ ]+?) +(\d) [a-z]", text, re.MULTILINE)
        }
        section = re.search(r"^## Six walks$(.*?)^## ", text, re.MULTILINE | re.DOTALL)
        assert section, "ARCHITECTURE.md has no walks"
        heads_and_bodies = re.split(r"^### (.*)$", section[1], flags=re.MULTILINE)[1:]
        walks = {
            head: list(dict.fromkeys(re.findall(r"`([a-z_]+)[a-z_0-9.]*`", body.strip().rpartition("\n\n")[2])))
            for head, body in zip(heads_and_bodies[::2], heads_and_bodies[1::2], strict=True)
        }
        return cls(dict(sorted(floors.items(), reverse=True)), walks)


def drawing(house: House) -> Html:
    """The house as SVG: doors above, floors below them, a numbered dot in a room for every walk that visits it."""
    y = TOP + FLOOR_HEIGHT * len(house.floors) + LEGEND_LINE + GAP
    legend = []
    for walk, (head, rooms) in enumerate(house.walks.items()):
        lines = textwrap.wrap(" → ".join(rooms), LEGEND_SIGNS, break_on_hyphens=False)
        legend.append(_legend(y, walk, head, lines))
        y += LEGEND_LINE * len(lines)
    return tag(
        "svg",
        tag("title", "The house: doors, floors and rooms, and the walks of data through them"),
        tag("style", trusted(STYLE)),
        _roof(),
        *(_floor(house, row, number) for row, number in enumerate(house.floors)),
        *legend,
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {WIDTH} {y}",
        role="img",
    )


def _text(x: float, y: float, words: str, kind: str | None = None) -> Html:
    return tag("text", words, x=x, y=y, class_=kind)


def _box(x: float, y: float, width: float, height: float, kind: str) -> Html:
    return lone("rect", x=x, y=y, width=width, height=height, rx=4, class_=kind)


def _dot(x: float, y: float, walk: int) -> Html:
    """The number of a walk in a disc of its colour."""
    disc = lone("circle", cx=x, cy=y, r=DOT, fill=COLOURS[walk])
    return tag("g", disc, _text(x, y + 3.5, str(walk + 1), "number"))


def _roof() -> Html:
    """The doors: who comes in, in which words, under one roof that is the package's public face."""
    width = WIDTH / len(DOORS)
    doors = [
        tag(
            "g",
            _text((n + 0.5) * width, 22, who, "middle quiet"),
            _text((n + 0.5) * width, 42, words, "middle name"),
            lone("path", d=f"M{(n + 0.5) * width:.0f} 50v14m-5 -6l5 6l5 -6", fill="none", stroke="#888"),
        )
        for n, (who, words) in enumerate(DOORS.items())
    ]
    roof = lone("path", d=f"M0 {TOP - GAP}L{LEFT} 72H{WIDTH - LEFT}L{WIDTH} {TOP - GAP}Z", class_="roof")
    face = _text(WIDTH / 2, 98, "bestchannel: the public names, loaded when they are used", "middle")
    return tag("g", *doors, roof, face)


def _floor(house: House, row: int, number: int) -> Html:
    """A floor with its rooms side by side; imports point to floors below it."""
    top, rooms = TOP + row * FLOOR_HEIGHT, house.floors[number]
    width = (WIDTH - LEFT - GAP) / len(rooms)
    words = [f"{number}", FLOORS[number]]
    return tag(
        "g",
        _box(0, top, WIDTH, FLOOR_HEIGHT - 4, "floor"),
        _text(10, top + 28, words[0], "name"),
        *(_text(10, top + 46 + 14 * n, line, "quiet") for n, line in enumerate(_lines(words[1]))),
        *(_room(house, name, LEFT + n * width, top + 5, width - GAP) for n, name in enumerate(rooms)),
    )


def _lines(words: str) -> list[str]:
    """Short words as one line, longer ones as two."""
    first, _, rest = words.partition(" and ")
    return [f"{first} and", rest] if rest else [words]


def _room(house: House, name: str, x: float, y: float, width: float) -> Html:
    visitors = [n for n, rooms in enumerate(house.walks.values()) if name in rooms]
    return tag(
        "g",
        _box(x, y, width, FLOOR_HEIGHT - 14, "room"),
        _text(x + 8, y + 18, name, "name"),
        _text(x + 8, y + 34, PURPOSES[name], "quiet"),
        *(_dot(x + 15 + DOTS_APART * place, y + 47, walk) for place, walk in enumerate(visitors)),
    )


def _legend(y: float, walk: int, head: str, lines: list[str]) -> Html:
    """A walk in words, and lines with its rooms in the order of the first visit."""
    rooms = (_text(270, y + n * LEGEND_LINE, line, "quiet") for n, line in enumerate(lines))
    return tag("g", _dot(16, y - 4, walk), _text(34, y, head), *rooms)


def main() -> None:
    """Write the picture."""
    house = House.described(ARCHITECTURE.read_text(encoding="utf-8"))
    IMAGE.write_text(f"{drawing(house)}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
