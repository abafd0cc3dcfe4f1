"""Real near-ties: "undecided" is an answer, and so is "within 0.02 bit of the best"."""

from pathlib import Path

import bestchannel as bc

devices = Path(__file__).parents[1] / "data/ibm_readout"
for device, pair in (("torino", ("q30", "q51")), ("boston", ("q14", "q107"))):
    qubits = bc.read_channels(devices / f"{device}.json")
    two = {name: qubits[name] for name in pair}
    first, second = (bc.capacity(channel) for channel in two.values())
    print(f"{device}: the two best qubits differ by {first.lower - second.lower:.5f} bit")

    sensor = bc.Simulator(two, rng=1)
    limited = bc.identify(sensor, bc.Adaptive(sensor.alphabets, delta=0.05), max_senses=1_000_000)
    print(f"  best: {limited.best} after {limited.senses:,} senses; candidates {', '.join(limited.candidates)}")

    policy = bc.Adaptive(sensor.alphabets, delta=0.05, epsilon=0.02)
    content = bc.identify(bc.Simulator(two, rng=1), policy)
    print(f"  {content.best} after {content.senses:,} senses: {content.guarantee}")
