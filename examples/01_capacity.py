"""The capacity of a channel, between two proved bounds."""

import bestchannel as bc
from bestchannel.channels import awgn_pam, bsc

link = bc.Channel.from_rows([[0.95, 0.05], [0.20, 0.80]], name="link")
C = bc.capacity(link)
print(f"C(link) lies between {C.lower:.9f} and {C.upper:.9f} bits per use")
print("an input distribution that achieves it:", C.input.round(4))

print("BSC(0.11), proved in ball arithmetic:", bc.capacity(bsc(0.11), rigorous=True).lower)

receiver = awgn_pam(4, snr_db=10, n_outputs=16)
power = [float(label) ** 2 for label in receiver.inputs]
for budget in (0.3, 0.6, 1.0):
    print(f"4-PAM at mean power {budget}: {bc.capacity(receiver, cost=power, budget=budget).lower:.4f} bits")
