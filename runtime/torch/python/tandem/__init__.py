"""Train a recommender model whose dense network is a module of PyTorch, and read what was trained.

    import tandem

    results = tandem.train("clicks.csv", Net, label="clicked", mode="sync", epochs=3)
    results.runs                                       # AUC, log loss, samples per second, …
    model = results.model()
    model.embeddings("user", ["u1", "u2"])             # rows by id
    model.module                                       # in plain PyTorch, with its trained weights
    model.predict("today.csv")

The trainings are those of Tandem's program cmd/train: see docs/pytorch.md. TANDEM_HOME is Tandem's folder,
the one with go.mod, or a folder with the programs train and model. Without it, the working directory and
those above it are searched.
"""

from tandem._programs import Error
from tandem._results import Model, Results, load
from tandem._train import train

__all__ = ["Error", "Model", "Results", "load", "train"]
