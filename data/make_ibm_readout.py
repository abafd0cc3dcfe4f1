"""Write ibm_readout/: one file of binary channels for each device in the wheel of qiskit-ibm-runtime.

    pip download --no-deps qiskit-ibm-runtime==0.51.0
    python data/make_ibm_readout.py qiskit_ibm_runtime-0.51.0-py3-none-any.whl

Between its two marks, ibm_readout/README.md is rewritten too.
"""

import hashlib
import json
import re
import sys
from pathlib import Path
from zipfile import ZipFile

import numpy as np

from bestchannel import capacities

FOLDER = Path(__file__).parent / "ibm_readout"
# Two copies of another device's calibration, and one whose authors call its figures not typical.
LEFT_OUT = {"cambridge_alt", "fractional", "nighthawk"}
HEADING = "| device | updated | qubits | best qubit | its capacity | gap to the second |\n|---|---|--:|---|--:|--:|"

Rows = list[list[float]]


def channel_rows(qubit: list[dict]) -> Rows:
    """The channel from the state prepared to the state read."""
    values = {entry["name"]: float(entry["value"]) for entry in qubit}
    false_1, false_0 = values["prob_meas1_prep0"], values["prob_meas0_prep1"]
    return [[1 - false_1, false_1], [false_0, 1 - false_0]]


def rendered(origin: str, channels: dict[str, Rows]) -> str:
    """The project's JSON form, one line a channel, with a note of its origin."""
    lines = ",\n".join(f'  "{name}": {json.dumps(W)}' for name, W in channels.items())
    return f'{{"origin": {json.dumps(origin)},\n"channels": {{\n{lines}\n}}}}\n'


def table_row(device: str, date: str, channels: dict[str, Rows]) -> str:
    """The device's line in the table of the README."""
    matrices = list(channels.values())
    bits = capacities(matrices).lower
    order = np.argsort(-bits, kind="stable")
    best = [name for name, rows in channels.items() if rows == matrices[order[0]]]
    gap = f"{bits[order[0]] - bits[order[1]]:.5f}" if len(order) > 1 else "–"
    return f"| {device} | {date[:10]} | {len(bits)} | {', '.join(best)} | {bits[order[0]]:.5f} | {gap} |"


def main(wheel: Path) -> None:
    """Write the channels of every device, the licence and the table."""
    source = " ".join(wheel.name.split("-")[:2]).replace("_", "-")
    notice = f"changed from {source}, Copyright 2021 IBM and its contributors, Apache-2.0; see README.md"
    table = [HEADING]
    with ZipFile(wheel) as archive:
        for path in sorted(archive.namelist()):
            if path.endswith("/LICENSE.txt"):
                (FOLDER / "LICENSE-APACHE-2.0.txt").write_bytes(archive.read(path))
            found = re.search(r"/fake_provider/backends/\w+/props_(\w+)\.json$", path)
            if not found or (device := found[1]) in LEFT_OUT:
                continue
            properties = json.loads(archive.read(path))
            name, date = properties["backend_name"], properties["last_update_date"]
            channels = {f"q{i}": channel_rows(qubit) for i, qubit in enumerate(properties["qubits"])}
            text = rendered(f"{name}, {date}; {notice}", channels)
            (FOLDER / f"{device}.json").write_text(text, encoding="utf-8")
            table.append(table_row(device, date, channels))
            print(f"{device}.json: {len(channels)} qubits")
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    made = f"Made from {source} (SHA-256 of the wheel `{digest}`).\n\n" + "\n".join(table)
    readme = FOLDER / "README.md"
    before, rest = readme.read_text(encoding="utf-8").split("<!-- made -->\n")
    after = rest[rest.index("\n<!-- end -->") :]
    readme.write_text(f"{before}<!-- made -->\n{made}{after}", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
