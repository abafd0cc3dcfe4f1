"""Make the pictures of the documentation: python docs/make_figures.py (a minute)."""

from pathlib import Path

from growth import POLICIES, SWEEPS, figure_growth, growth
from side_by_side import figure_side_by_side, side_by_side
from z_vs_bsc import figure_z_vs_bsc, z_vs_bsc

from bestchannel.paper import fig1_rows, fig2_rows, stated_fig1, stated_fig2
from bestchannel.report.figures import figure_1, figure_2, picture

IMAGES = Path(__file__).parent / "images"
SEED = 1


def main() -> None:
    """Write every picture as SVG."""
    stated = stated_fig1(SEED)
    figures = {
        "fig1-published": figure_1(fig1_rows()),
        "fig1-stated": figure_1(stated, spread=stated),
        "fig2-published": figure_2(fig2_rows(), break_even=True),
        "fig2-stated": figure_2(stated_fig2(SEED), break_even=False),
        "side-by-side": figure_side_by_side(side_by_side(SEED)),
        "z-against-bsc": figure_z_vs_bsc(z_vs_bsc()),
    }
    for quantity in SWEEPS:
        curves = [growth(policy, quantity, seed=SEED) for policy in POLICIES]
        figures[f"growth-{quantity}"] = figure_growth(curves)
        for curve in curves:
            print(f"{quantity:9} {curve.policy:13} runs {curve.slope:.2f}  theorem {curve.expression_slope:.2f}")
    IMAGES.mkdir(exist_ok=True)
    for name, figure in figures.items():
        (IMAGES / f"{name}.svg").write_bytes(picture(figure, "svg"))


if __name__ == "__main__":
    main()
