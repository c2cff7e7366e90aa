//go:build race

package gemm

const raceDetector = true
