"""Three classifiers on one test set: comparing their answers image by image proves more than their counts do."""

import csv
from pathlib import Path

import bestchannel as bc

with (Path(__file__).parents[1] / "data/digits/predictions.csv").open() as file:
    items = list(csv.DictReader(file))
y_true = [item["x"] for item in items]
models = {name: [item[f"y_{name}"] for item in items] for name in ("rbf_svm", "logistic", "ridge")}

for design in ("shared", "joint"):
    result = bc.estimate(y_true, models, design=design)
    ahead = ", ".join(f"{gap.rival} by {gap.lower:+.3f} bit or more" for gap in result.differences)
    print(f"{design}: {result.verdict.leader} is ahead of {ahead}; best, proved: {result.best}")
print(result.guarantee)
