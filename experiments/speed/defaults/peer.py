"""Classifiers of other libraries, at their defaults, on the rows of a file of columns.

python -c SCRIPT columns.json sklearn lightgbm catboost

A line of JSON has, for each named library that is installed, its version, the seconds of fitting and
predicting, and the probabilities of the test rows. scikit-learn has ids one-hot; the others take
them for categories.
"""

import importlib
import json
import sys
import time
import warnings

import numpy as np

warnings.filterwarnings("ignore")  # that a regression has not converged


def numbers(rows):
    return np.array(rows["numbers"], np.float32).reshape(-1, len(rows["labels"])).T


def ids(rows):
    return np.array(rows["ids"], np.int64).reshape(-1, len(rows["labels"])).T


def frame(rows, known=None):
    """Return a table whose ids are categories: those of known where that is given."""
    import pandas

    columns = {f"number {i}": values for i, values in enumerate(rows["numbers"])}
    for i, values in enumerate(rows["ids"]):
        name = f"id {i}"
        columns[name] = pandas.Categorical(values, None if known is None else known[name].cat.categories)
    return pandas.DataFrame(columns)


def sklearn(train, test):
    from scipy.sparse import csr_matrix, hstack
    from sklearn.linear_model import LogisticRegression
    from sklearn.preprocessing import OneHotEncoder

    hot = OneHotEncoder(handle_unknown="ignore").fit(ids(train))
    both = [hstack([hot.transform(ids(rows)), csr_matrix(numbers(rows))]).tocsr() for rows in (train, test)]
    return LogisticRegression(max_iter=1000).fit(both[0], train["labels"]).predict_proba(both[1])


def lightgbm(train, test):
    from lightgbm import LGBMClassifier

    known = frame(train)
    return LGBMClassifier(verbose=-1).fit(known, train["labels"]).predict_proba(frame(test, known))


def catboost(train, test):
    import pandas
    from catboost import CatBoostClassifier

    first, columns = len(train["numbers"]), len(train["numbers"]) + len(train["ids"])
    both = [pandas.DataFrame(dict(enumerate(rows["numbers"] + rows["ids"]))) for rows in (train, test)]
    model = CatBoostClassifier(verbose=0, allow_writing_files=False, cat_features=list(range(first, columns)))
    return model.fit(both[0], train["labels"]).predict_proba(both[1])


data = json.load(open(sys.argv[1]))
found = []
for fit in (sklearn, lightgbm, catboost):
    if fit.__name__ not in sys.argv[2:]:
        continue
    try:
        version = importlib.import_module(fit.__name__).__version__
    except ImportError:
        continue
    start = time.time()
    predicted = fit(data["train"], data["test"])[:, 1]
    found.append({"name": fit.__name__, "version": version, "seconds": time.time() - start,
                  "predicted": predicted.tolist()})
print(json.dumps(found))
