"""What no policy can do without, and what Adaptive takes on the same channels."""

import bestchannel as bc

links = {
    "cable": [[0.90, 0.10], [0.10, 0.90]],
    "radio": [[0.97, 0.03], [0.25, 0.75]],
    "relay": [[0.80, 0.20], [0.30, 0.70]],
}
bound = bc.lower_bound(links, delta=0.01)
T = bound.characteristic_time
print(f"T* lies between {T.lower:,.0f} and {T.upper:,.0f} senses per nat")
print(f"every policy needs at least {bound.senses_lower_bound:,.0f} senses on average")
print(f"Theorem 4 of the paper gives {bound.theorem4.lower:,.0f}")
for name, shares in bound.allocation.items():
    print(f"an oracle would give {shares.sum():.0%} of its senses to {name}, by input: {shares.round(3)}")

runs = 20
senses = 0
for seed in range(runs):
    sensor = bc.Simulator(links, rng=seed)
    senses += bc.identify(sensor, bc.Adaptive(sensor.alphabets, delta=0.01)).senses
print(f"Adaptive takes {senses / runs:,.0f} on average of {runs} runs")
