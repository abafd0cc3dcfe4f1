"""Write what twelve classifiers answered on the same images, digits/predictions.csv, and its counts, confusion.csv.

    python data/make_digits.py

needs scikit-learn; digits/README.md names the versions that made the files in this folder.
"""

import csv
from collections.abc import Iterable
from pathlib import Path

from sklearn.datasets import load_digits
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.metrics import confusion_matrix
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.naive_bayes import BernoulliNB, GaussianNB, MultinomialNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

SEED = 1

CLASSIFIERS = {
    "bernoulli_nb": BernoulliNB(binarize=8),
    "decision_tree": DecisionTreeClassifier(random_state=SEED),
    "extra_trees": ExtraTreesClassifier(random_state=SEED),
    "gaussian_nb": GaussianNB(),
    "lda": LinearDiscriminantAnalysis(),
    "linear_svm": SVC(kernel="linear"),
    "logistic": LogisticRegression(C=0.01, solver="newton-cg"),
    "multinomial_nb": MultinomialNB(),
    "nearest_neighbour": KNeighborsClassifier(1),
    "random_forest": RandomForestClassifier(random_state=SEED),
    "rbf_svm": SVC(),
    "ridge": RidgeClassifier(),
}


def main() -> None:
    """Classify every image by a model trained on the four folds it is not in; write the answers and their counts."""
    images, digits = load_digits(return_X_y=True)
    folds = StratifiedKFold(5, shuffle=True, random_state=SEED)
    answers = {name: cross_val_predict(each, images, digits, cv=folds) for name, each in CLASSIFIERS.items()}
    trials = zip(range(len(digits)), digits, *answers.values(), strict=True)
    write("predictions.csv", ["trial", "x", *(f"y_{name}" for name in answers)], trials)
    tables = {name: confusion_matrix(digits, y) for name, y in answers.items()}
    cells = ((name, x, y, counts[x, y]) for name, counts in tables.items() for x in range(10) for y in range(10))
    write("confusion.csv", ["channel", "x", "y", "count"], cells)
    for name, counts in tables.items():
        print(f"{name}: {len(digits) - counts.trace()} of {len(digits)} wrong")


def write(name: str, header: list[str], rows: Iterable[Iterable[object]]) -> None:
    """A table in digits/."""
    with (Path(__file__).parent / "digits" / name).open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)


if __name__ == "__main__":
    main()
