"""A one-hot logistic regression of scikit-learn on the rows of a file.

python -c SCRIPT rows predictions

The file holds, twice, for training and test rows, little-endian: n, entries, numbers, features (int32), the offset of
each row's features and their total (int32, n+1), features (int32), numbers (float32, n x numbers) and labels
(float32). The probabilities of the test rows go to the other file (float64). A line of JSON says what was used.
"""

import json
import sys
import time
import warnings

import numpy as np
import scipy.sparse as sparse
import sklearn
from sklearn.linear_model import LogisticRegression


def read(file):
    n, entries, numbers, features = np.fromfile(file, "<i4", 4)
    offsets = np.fromfile(file, "<i4", n + 1)
    ids = np.fromfile(file, "<i4", entries)
    dense = np.fromfile(file, "<f4", n * numbers).reshape(n, numbers)
    labels = np.fromfile(file, "<f4", n)
    hot = sparse.csr_matrix((np.ones(entries), ids, offsets), shape=(n, features))
    return sparse.hstack([hot, sparse.csr_matrix(dense.astype(np.float64))]).tocsr(), labels


warnings.filterwarnings("ignore")  # that it has not converged is in "iterations"
with open(sys.argv[1], "rb") as file:
    train, labels = read(file)
    test, _ = read(file)
start = time.time()
model = LogisticRegression(C=1, max_iter=1000).fit(train, labels)
seconds = time.time() - start
model.predict_proba(test)[:, 1].astype("<f8").tofile(sys.argv[2])
print(json.dumps({"sklearn": sklearn.__version__, "python": sys.version.split()[0], "seconds": seconds,
                  "iterations": int(model.n_iter_[0])}))
