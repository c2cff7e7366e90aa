//go:build race

package blas

const raceDetector = true
