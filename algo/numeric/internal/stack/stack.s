// Package stack declares a function of the runtime, for which the compiler asks for a file of assembly.
