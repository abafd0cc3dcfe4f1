"""What the counts of twelve classifiers say: capacities with intervals, and a verdict."""

from pathlib import Path

import bestchannel as bc

counts = bc.read_counts(Path(__file__).parents[1] / "data/digits/confusion.csv", outputs="0123456789")
result = bc.estimate(counts, delta=0.05, design="shared")  # one test set served all classifiers
print("classifier         capacity   proved           normal, not proved")
for channel in sorted(result.channels, key=lambda channel: -channel.capacity):
    normal = channel.asymptotic
    proved, narrower = f"{channel.lower:.2f} … {channel.upper:.2f}", f"{normal.lower:.2f} … {normal.upper:.2f}"
    print(f"{channel.name:18} {channel.capacity:.4f}     {proved}      {narrower}")

for kind, verdict in (("proved", result.verdict), ("normal, not proved", result.asymptotic_verdict)):
    print(f"{kind}: {verdict.best or 'undecided'}; not ruled out: {', '.join(verdict.candidates)}")
print(f"about {result.verdict.more_senses:,} more images would decide with a proof")
print(result.guarantee)
