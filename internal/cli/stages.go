package cli

// Stages explains the stages of a step, which tables name where they say what bounds a run.
const Stages = "Stages of a step: GE, get embeddings; FC and BC, forward and backward computation; DS, " +
	"synchronisation of the dense network; PEG, put embedding gradients."
