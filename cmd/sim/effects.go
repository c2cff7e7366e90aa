package main

import (
	"fmt"
	"strings"

	"tandem/sim/predict"
)

// parameterWords are what parameters are about, by the beginnings of their names; the first that fits counts.
var parameterWords = []struct{ prefix, words string }{
	{"accelerator.dollars", "the price of a GPU"},
	{"accelerator.embedding", "embedding kernels of the GPU"},
	{"accelerator", "matrix products and memory of the GPU"},
	{"inside", "the wire between GPUs of a server"},
	{"host-link", "copies between host and GPU"},
	{"network", "the network"},
	{"server", "the hosts of the GPUs"},
	{"embedding-workers", "the hosts of embedding workers"},
	{"embedding-ps", "the hosts of embedding PSs"},
	{"loaders", "the hosts of data loaders"},
	{"system.nn-worker", "the software of a rank"},
	{"system.collectives", "the software of collectives"},
	{"system.messages", "the software of messages"},
	{"system.embedding-worker", "the software of embedding workers"},
	{"system.embedding-ps", "the software of embedding PSs"},
	{"system.embedding-kernels", "the embedding kernels of the software"},
	{"system.dense-kernels", "the dense kernels of the software"},
	{"system.loader", "the software of data loaders"},
	{"system.dense-ps", "the software of dense PSs"},
	{"system", "the software"},
	{"model", "the model"},
}

// wordsOf says what a parameter is about, and names it.
func wordsOf(name string) string {
	for _, x := range parameterWords {
		if strings.HasPrefix(name, x.prefix) {
			return fmt.Sprintf("%s (%s)", x.words, name)
		}
	}
	return name
}

// worthMeasuring is the share of the interval from which on a parameter is named beside the first.
const worthMeasuring = 0.1

// effectWords says what to measure first.
func effectWords(effects []predict.Effect) string {
	if len(effects) == 0 || !(effects[0].Share > 0) {
		return "Nothing that is not known changes the answer."
	}
	text := fmt.Sprintf("Measure first %s: %.0f %% of the interval", wordsOf(effects[0].Name),
		100*min(1, effects[0].Share))
	if len(effects) > 1 && effects[1].Share >= worthMeasuring {
		text += fmt.Sprintf("; then %s: %.0f %%", wordsOf(effects[1].Name), 100*effects[1].Share)
	}
	return text + ". --set NAME=VALUE takes what you measure."
}
