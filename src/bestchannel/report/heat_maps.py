"""Shaded tables: where the senses went, and what each channel does with its inputs."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from itertools import groupby

import numpy as np

from bestchannel.arrays import Floats
from bestchannel.report.charts import label, label_width, letters, picture
from bestchannel.report.markup import Html, Sortable, brief, lone, percent, several, short, table, tag, whole
from bestchannel.report.summary import Measured

ROW, CELL = 24, 26
LEFT_OF_A_ROW = {"dy": "0.34em", "class_": "tick end"}
MOST_LETTERED = 8  # inputs and outputs up to which a cell has room for its number
LEVELS = 12  # shades of a compact matrix


def shade(share: float) -> float:
    """The opacity of a cell, from 0 to 1; what is not 0 can be seen."""
    return 0.0 if not share > 0.0 else round(0.05 + 0.95 * min(share, 1.0), 2)


def senses_map(channels: Sequence[Measured], most: float, total: float) -> Html:
    """One row per channel and one column per input, shaded by its senses; `most` is the darkest of the whole report."""
    n_inputs = max(len(channel.inputs) for channel in channels)
    alphabets = {channel.inputs for channel in channels}
    heads = alphabets.pop() if len(alphabets) == 1 else [str(x) for x in range(n_inputs)]
    columns = [letters(brief(x, 6), x=_centre(i, n_inputs), y=-7, class_="tick middle") for i, x in enumerate(heads)]
    left = label_width([channel.name for channel in channels])
    figure = picture(
        *(columns if n_inputs <= 2 * MOST_LETTERED else []),
        *(_senses_row(channel, i, n_inputs, most, total) for i, channel in enumerate(channels)),
        height=ROW * len(channels),
        title=f"Senses of each input: {brief(channels[0].name)} to {brief(channels[-1].name)}",
        description="One row per channel, one column per input, darker for more senses; the table has the numbers.",
        left=left,
        right=52,
    )
    width = left + 52 + max(54 * min(n_inputs, 8), 30 * n_inputs)
    return tag("div", figure, class_="senses", style=f"max-width:{width}px")


def _senses_row(channel: Measured, number: int, n_inputs: int, most: float, total: float) -> Html:
    """A row whose cells have hints and numbers, or where there are many inputs one hint: few bytes, for the many."""
    top, middle = ROW * number, ROW * number + ROW // 2
    by_input, hint = channel.by_input.tolist(), ""
    size = {"y": top + 1, "width": f"{100.0 / n_inputs:.2f}%", "height": ROW - 2, "class_": "cell"}
    cells = [
        lone("rect", x=f"{100.0 * x / n_inputs:.2f}%", **size, fill_opacity=shade(senses / most))
        for x, senses in enumerate(by_input)
    ]
    if n_inputs > MOST_LETTERED:
        hint = tag("title", f"{channel.name}: {_senses_of_all(channel.senses, total)}")
    else:
        cells = [
            tag(
                "g",
                tag("title", f"{channel.name}, input {channel.inputs[x]}: {_senses_of_all(senses, total)}"),
                cells[x],
                _number(short(senses), x=_centre(x, n_inputs), y=middle),
            )
            for x, senses in enumerate(by_input)
        ]
    sum_ = letters(short(channel.senses), x="100%", dx=8, y=middle, dy="0.34em", class_="value")
    return tag("g", hint, label(channel.name, middle), *cells, sum_, data_name=channel.name)


def _senses_of_all(senses: float, total: float) -> str:
    return f"{several(senses, 'sense')}, {percent(senses / total)} of all"


def _centre(x: int, n_inputs: int) -> str:
    return f"{100.0 * (x + 0.5) / n_inputs:.3f}%"


def _number(content: str, **place: object) -> Html:
    return letters(content, dy="0.34em", class_="in-cell", **place)


def senses_table(channels: Sequence[Measured]) -> Html:
    """The senses of every input, listed in one cell where channels have many."""
    rows = [
        [
            c.name,
            Sortable(whole(c.senses), float(c.senses)),
            ", ".join(f"{letter}: {whole(n)}" for letter, n in zip(c.inputs, c.by_input, strict=True)),
        ]
        for c in channels
    ]
    return table("Senses by channel and input", ["channel", "senses", "by input"], rows, by_name=True)


def matrix_map(W: Floats, inputs: Sequence[str], outputs: Sequence[str], title: str, *, compact: bool) -> Html:
    """W[x, y] with one row per input and one column per output; NaN where nothing is known.

    A compact one has no numbers in its cells: few bytes, for the many.
    """
    lettered = not compact and max(W.shape) <= MOST_LETTERED
    width, height = (40, 28) if lettered else (CELL, CELL)
    cells = _compact_cells(W, width, height) if compact else _cells(W, inputs, outputs, width, height, lettered)
    sparse = compact and max(W.shape) > MOST_LETTERED
    left = 14 + 7 * min(max(map(len, inputs)), 6)
    across, down = left + width * len(outputs) + 2, height * len(inputs) + 24
    return tag(
        "svg",
        tag("title", title),
        tag("desc", f"{several(len(inputs), 'input')} by {several(len(outputs), 'output')}, darker for more probable."),
        *_edge(inputs, sparse, lambda x: {"x": -8, "y": height * x + height // 2, **LEFT_OF_A_ROW}),
        *_edge(outputs, sparse, lambda y: {"x": width * y + width // 2, "y": -7, "class_": "tick middle"}),
        *cells,
        role="img",
        class_="matrix",
        **(_for_hints(W, inputs, outputs) if compact else {}),
        viewBox=f"{-left} -22 {across} {down}",
        style=f"width:{across}px",
    )


def _for_hints(W: Floats, inputs: Sequence[str], outputs: Sequence[str]) -> dict[str, object]:
    """What the script of the page reads where cells have no titles: W in thousandths, nothing where it is unknown."""
    rows = (",".join("" if share != share else f"{1000.0 * share:.0f}" for share in row) for row in W.tolist())
    sides = {"data_inputs": list(inputs), "data_outputs": list(outputs)}
    words = {key: json.dumps(side, separators=(",", ":"), ensure_ascii=False) for key, side in sides.items()}
    return {"data_w": ";".join(rows), "data_cell": CELL, **words}


def _edge(alphabet: Sequence[str], sparse: bool, place: Callable[[int], dict[str, object]]) -> list[Html]:
    """The letters along an edge; `sparse` names the first and the last only."""
    numbered = list(enumerate(alphabet))
    kept = numbered[:1] + numbered[1:][-1:] if sparse else numbered
    return [letters(brief(letter, 4), **place(number)) for number, letter in kept]


def _cells(
    W: Floats, inputs: Sequence[str], outputs: Sequence[str], width: int, height: int, lettered: bool
) -> list[Html]:
    cells = []
    for x, row in enumerate(W.tolist()):
        for y, share in enumerate(row):
            known = "unknown" if share != share else f"{share:.4f}"
            place = {"x": width * y, "y": height * x, "width": width, "height": height}
            content = [
                tag("title", f"input {inputs[x]}, output {outputs[y]}: {known}"),
                lone("rect", **place, class_="cell", fill_opacity=shade(share)),
            ]
            if lettered:
                content.append(_number(_three_signs(share), x=width * y + width // 2, y=height * x + height // 2))
            cells.append(tag("g", *content))
    return cells


def _three_signs(share: float) -> str:
    """.92, .004, 1, 0: what fits a cell; ~0 and ~1 where digits would round to a certainty."""
    if share != share:
        return "?"
    if share in (0.0, 1.0):
        return f"{share:.0f}"
    digits = 2 if 0.01 <= share < 0.99 else 3
    rounded = f"{share:.{digits}f}"
    return f"~{share:.0f}" if float(rounded) in (0.0, 1.0) else rounded.lstrip("0")


def _compact_cells(W: Floats, width: int, height: int) -> list[Html]:
    """One path per shade, one piece of it per run of equal cells: few bytes, for matrices by the hundred."""
    levels = np.ceil(np.nan_to_num(W) * LEVELS).astype(int)
    pieces: dict[int, list[str]] = {}
    for x, row in enumerate(levels.tolist()):
        y = 0
        for level, run in groupby(row):
            length = len(list(run))
            pieces.setdefault(level, []).append(f"M{y} {x}h{length}v1h-{length}z")
            y += length
    pieces.pop(0, None)
    paths = [
        lone("path", d="".join(corners), class_="cell", fill_opacity=shade(level / LEVELS))
        for level, corners in sorted(pieces.items())
    ]
    outline = lone("rect", x=0, y=0, width=width * W.shape[1], height=height * W.shape[0], class_="outline")
    return [tag("g", *paths, transform=f"scale({width} {height})"), outline]
