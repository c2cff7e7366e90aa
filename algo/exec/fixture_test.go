package exec

import (
	"testing"

	"tandem/algo/exec/backend"
	"tandem/algo/exec/reference"
	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/compress"
)

func mustNew(t testing.TB, training job.Job, source batch.Source) *Executor {
	t.Helper()
	p, err := New(training, source, backend.Backend{})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func mustNewSequential(t testing.TB, training job.Job, source batch.Source) *reference.Sequential {
	t.Helper()
	q, err := reference.NewSequential(training, source, backend.Backend{})
	if err != nil {
		t.Fatal(err)
	}
	return q
}

// mustStep trains the reference on its first steps.
func mustStep(t testing.TB, q *reference.Sequential, steps int) {
	t.Helper()
	for step := range steps {
		if err := q.Step(step); err != nil {
			t.Fatal(err)
		}
	}
}

// travelling returns values as the payload that they travel as.
func travelling(values any) Payload {
	switch v := values.(type) {
	case *batch.Part:
		return Samples{v}
	case compress.Signs:
		return Signs{v}
	case compress.Values:
		return Values{v}
	case []float32:
		return DenseShard(v)
	}
	return values.(Payload)
}

func mustPanic(t *testing.T, want string, call func()) {
	t.Helper()
	defer func() {
		t.Helper()
		if got := recover(); got != want {
			t.Errorf("panic %v, want %q", got, want)
		}
	}()
	call()
}
