"""A service, four simulated instruments as processes of their own, and the page: until Ctrl-C.

python examples/live/live.py [FOLDER] [MILLISECONDS PER SENSE]
"""

import json
import subprocess
import sys
import urllib.request
from pathlib import Path

ROOT = Path(__file__).parents[2]
DEVICE = ROOT / "data" / "ibm_readout" / "rochester.json"
QUBITS = ["q20", "q36", "q34", "q10"]
PROGRAM = [sys.executable, "-m", "bestchannel"]


def main(folder="build/live", milliseconds="1"):
    folder = Path(folder)
    for old in folder.glob("readout.*"):
        old.unlink()
    quietly = ["--port", "0", "--log-level", "error", "--json"]
    service = started("serve", folder, *quietly, stdout=subprocess.PIPE)
    sensors = []
    try:
        place = json.loads(service.stdout.readline())
        begin(place)
        page = f"{place['address']}/runs/readout?token={place['token']}"
        print(f"watch it here: {page}", flush=True)
        for qubit in QUBITS:
            instrument = [sys.executable, Path(__file__).with_name("read_out.py"), DEVICE, qubit, milliseconds]
            sense = ["sense", page, "--channel", qubit, "--name", f"bench {qubit}", "--", *instrument]
            sensors.append(started(*sense, stdout=subprocess.DEVNULL))
        subprocess.run([*PROGRAM, "watch", page], check=True)
        subprocess.run([*PROGRAM, "report", folder / "readout.db", "-o", folder / "readout.html"], check=True)
        print(f"the page stays at {page} until Ctrl-C", flush=True)
        service.wait()
    except KeyboardInterrupt:
        pass
    finally:
        for process in (*sensors, service):
            process.terminate()
            process.wait()


def started(*words, **streams):
    """A bestchannel in a process of its own, which Ctrl-C does not reach: it is ended below."""
    return subprocess.Popen([*PROGRAM, *words], start_new_session=True, **streams)


def begin(place):
    """Begin a run of the four qubits."""
    bit = {"inputs": ["0", "1"], "outputs": ["0", "1"]}
    run = {"name": "readout", "delta": 0.01, "channels": dict.fromkeys(QUBITS, bit)}
    headers = {"Authorization": f"Bearer {place['token']}", "Content-Type": "application/json"}
    call = urllib.request.Request(f"{place['address']}/api/runs", json.dumps(run).encode(), headers)
    urllib.request.urlopen(call).close()


if __name__ == "__main__":
    main(*sys.argv[1:])
