"""From an identification to a report and a figure: writes report.html, and evidence.svg where matplotlib is."""

from pathlib import Path

import bestchannel as bc
from bestchannel.errors import MissingExtraError
from bestchannel.report.figures import save
from bestchannel.report.page import page

device = bc.read_channels(Path(__file__).parents[1] / "data/ibm_readout/lagos.json")
sensor = bc.Simulator(device, rng=1)
result = bc.identify(sensor, bc.Adaptive(sensor.alphabets, delta=0.05))
report = Path("report.html")
report.write_text(page(result), encoding="utf-8")
print(f"{result.best} after {result.senses:,} senses; {report} has {report.stat().st_size:,} bytes")

try:
    save(result, "evidence", "evidence.svg")
except MissingExtraError as missing:
    print(missing)
