"""A one-hot logistic regression of scikit-learn on the rows of files in the format of svmlight.

python -c SCRIPT train test

A line of JSON says what was used and has the probabilities of the test rows.
"""

import json
import sys
import time
import warnings

import sklearn
from sklearn.datasets import load_svmlight_files
from sklearn.linear_model import LogisticRegression

warnings.filterwarnings("ignore")  # that it has not converged is in "iterations"
train, labels, test, _ = load_svmlight_files(sys.argv[1:], zero_based=True)
start = time.time()
model = LogisticRegression(C=1, max_iter=1000).fit(train, labels)
seconds = time.time() - start
print(json.dumps({"sklearn": sklearn.__version__, "python": sys.version.split()[0], "seconds": seconds,
                  "iterations": int(model.n_iter_[0]), "predicted": model.predict_proba(test)[:, 1].tolist()}))
