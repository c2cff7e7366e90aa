package synth

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math"
	"runtime"
	"testing"

	"tandem/algo/job"
	"tandem/algo/numeric/batch"
)

// hashOf returns the first digits of the SHA-256 of all rows and probabilities.
func hashOf(data *Data) string {
	h := sha256.New()
	write := func(bits uint64) { _ = binary.Write(h, binary.LittleEndian, bits) }
	for _, part := range []*batch.Batch{data.Train, data.Test} {
		for _, slot := range part.Slots {
			for _, id := range slot.IDs {
				write(id)
			}
			for _, offset := range slot.Offsets {
				write(uint64(offset))
			}
		}
		for _, value := range part.Dense {
			write(uint64(math.Float32bits(value)))
		}
		for _, value := range part.Labels {
			write(uint64(math.Float32bits(value)))
		}
	}
	for _, p := range data.TestProbability {
		write(math.Float64bits(p))
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// Jobs without streams, coverage, ties, blanks and drift keep the rows of the first version.
func TestFrozenZipf(t *testing.T) {
	spec := testSpec()
	spec.TrainRows, spec.TestRows = 20_000, 500
	spec.Columns[1].IDsPerRow = 1.5
	spec.Conversion = &job.SyntheticConversion{Rate: 0.3, Shared: 0.5}
	data, err := Generate(spec)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := hashOf(data), "5dbd33d889443bf5"; runtime.GOARCH == "amd64" && got != want {
		t.Errorf("rows %s, want %s", got, want)
	}
}

// The presets with coverage, ties, blanks and drift keep their rows too: stored results depend on them.
func TestFrozenPresets(t *testing.T) {
	for preset, want := range map[string]string{
		job.PresetCriteo: "0c7d35c739c10811", "kwai-like": "e31df05f6a5ae14f",
	} {
		spec := job.Synthetic{Preset: preset, Seed: 1, TrainRows: 40_000, TestRows: 2000}
		data, err := Generate(spec)
		if err != nil {
			t.Fatal(err)
		}
		if got := hashOf(data); runtime.GOARCH == "amd64" && got != want {
			t.Errorf("%s: rows %s, want %s", preset, got, want)
		}
	}
}
