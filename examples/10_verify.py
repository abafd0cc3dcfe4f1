"""A result carries its proof: check it, and see a forged one fail."""

import bestchannel as bc
from bestchannel.policies.transcript import as_document
from bestchannel.verification import verify

links = {"cable": [[0.98, 0.02], [0.02, 0.98]], "radio": [[0.97, 0.03], [0.25, 0.75]]}
sensor = bc.Simulator(links, rng=7)
result = bc.identify(sensor, bc.Adaptive(sensor.alphabets, delta=0.05))
document = as_document(result)  # what `bestchannel identify --json` prints
print(verify(document))

document["best"] = "radio"
print("another name:", verify(document).failure)

document["best"] = "cable"
counts = document["audit"]["steps"][-1]["counts"]["cable"]
counts[0][0], counts[0][1] = counts[0][1], counts[0][0]
print("another count:", verify(document).failure)
