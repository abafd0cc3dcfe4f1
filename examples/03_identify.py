"""Find the best of three channels that are only known to the simulator."""

import bestchannel as bc

links = {
    "cable": [[0.90, 0.10], [0.10, 0.90]],
    "radio": [[0.97, 0.03], [0.25, 0.75]],
    "relay": [[0.80, 0.20], [0.30, 0.70]],
}
sensor = bc.Simulator(links, rng=7)
for policy in (bc.Adaptive, bc.BestChanID):
    result = bc.identify(sensor, policy(sensor.alphabets, delta=0.05))
    print(f"{result.policy}: {result.best} after {result.senses:,} senses; {result.guarantee}")
