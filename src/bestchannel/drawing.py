"""Matplotlib behind two functions: a figure without global state, and its bytes, equal for equal pictures."""

from __future__ import annotations

from io import BytesIO
from typing import TYPE_CHECKING, Literal

from bestchannel.errors import MissingExtraError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BLUE, ORANGE, GREEN, RED = "#0000ff", "#ffa500", "#2a7f3f", "#ff0000"
GRID = "#b0b0b0"


def require_matplotlib() -> None:
    """Raise `MissingExtraError` where nothing can be drawn; asked before long work, it saves that work."""
    try:
        import matplotlib.figure  # noqa: F401  deferred: an optional package, and slow to import
    except ImportError:
        raise MissingExtraError("drawing a figure", "plots") from None


def axes(*, width: float = 6.4, height: float = 4.2) -> tuple[Figure, Axes]:
    """An empty figure of that many inches with one pair of axes and a grey grid."""
    require_matplotlib()
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    ax = figure.add_subplot()
    ax.grid(color=GRID, linewidth=0.6)
    ax.set_axisbelow(True)
    return figure, ax


Form = Literal["png", "svg", "pdf"]

UNDATED: dict[Form, dict[str, str | None]] = {
    "png": {"Software": None},
    "svg": {"Date": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}
"""What matplotlib would write into a file of itself and of the day."""


def picture(figure: Figure, kind: Form) -> bytes:
    """The figure as a file, without a date, so that the same figure gives the same bytes."""
    from matplotlib import rc_context

    out = BytesIO()
    with rc_context({"svg.hashsalt": "bestchannel", "svg.fonttype": "none"}):
        figure.savefig(out, format=kind, dpi=120, metadata=UNDATED[kind])
    return out.getvalue()
