"""Write digits/confusion.csv: how often twelve classifiers took the digit x for y.

    python data/make_digits.py

needs scikit-learn; digits/README.md names the versions that made the file in this folder.
"""

import csv
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
    """Classify every image by a model trained on the four folds it is not in, and write the counts."""
    images, digits = load_digits(return_X_y=True)
    folds = StratifiedKFold(5, shuffle=True, random_state=SEED)
    path = Path(__file__).parent / "digits" / "confusion.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["channel", "x", "y", "count"])
        for name, classifier in CLASSIFIERS.items():
            counts = confusion_matrix(digits, cross_val_predict(classifier, images, digits, cv=folds))
            writer.writerows([name, x, y, counts[x, y]] for x in range(10) for y in range(10))
            print(f"{name}: {len(digits) - counts.trace()} of {len(digits)} wrong")


if __name__ == "__main__":
    main()
