package process

import (
	"errors"
	"testing"
	"time"

	"tandem/algo/job"
	"tandem/runtime/checkpoint"
	"tandem/runtime/train"
)

// drainSteps is the length of the runs that are interrupted: ranks may run ahead. Those that continue train
// only restSteps more.
const drainSteps, restSteps = 250, 40

// interrupted trains in processes until the end is requested: by the process of s.Asked, or else by the
// caller when rank 0 has trained a few steps. It returns the model that was saved, and its number of steps.
func (s setting) interrupted(t *testing.T) (model string, step int) {
	t.Helper()
	folder, drain, requested := t.TempDir(), make(chan struct{}), s.Asked != ""
	_, err := s.run(t.Context(), train.Options{Drain: drain, Progress: func(done, _ int) {
		if done >= 3 && !requested {
			requested = true
			close(drain)
		}
	}, SaveApart: saveApart(folder, s.Training.Training.Mode)}, nil)
	var drained *train.DrainedError
	if !errors.As(err, &drained) || drained.Step < 3 || drained.Step >= drainSteps {
		t.Fatalf("%s: error %v, want a DrainedError", s.Training.Training.Mode, err)
	}
	return checkpoint.StepFolder(folder, drained.Step), drained.Step
}

// resumed trains on in processes.
func (s setting) resumed(t *testing.T, model string, step int) *train.Result {
	t.Helper()
	saved, err := checkpoint.Open(model)
	if err != nil {
		t.Fatal(err)
	}
	defer saved.Close()
	begin := train.Begin{Step: step, Model: saved, Folder: model}
	result, err := s.run(t.Context(), train.Options{Begin: begin}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if result.Steps != s.Steps-step {
		t.Errorf("%d steps after %d", result.Steps, step)
	}
	return result
}

// A sync training in processes that is interrupted continues with other numbers of ranks and PSs, and ends
// with the bits of sequential training. It is interrupted by a request to the host, by one to the process of
// a rank, and while the process of the data loader comes back from its death.
func TestInterruptedProcessesContinueWithOtherRoles(t *testing.T) {
	t.Parallel()
	s := setting{Training: small(job.Sync), Steps: drainSteps}
	s.Training.Roles.EmbeddingPSs = 4
	cases := []struct {
		asked, panics string
		ranks, pss    int
	}{{"", "", 2, 3}, {"nn-worker 1", "", 4, 1}, {"", "data-loader 0", 4, 7}}
	if testing.Short() {
		cases = cases[:1]
	}
	for _, c := range cases {
		s.Asked, s.Panic = c.asked, c.panics
		model, step := s.interrupted(t)
		rest := setting{Training: s.Training, Steps: step + restSteps}
		rest.Training.Roles.Ranks, rest.Training.Roles.EmbeddingPSs = c.ranks, c.pss
		rest.mustEqualSequential(t, rest.resumed(t, model, step))
	}
}

// Modes whose PSs or ranks end in another way are interrupted and continue in processes, too. They keep their
// bounds, which Run checks.
func TestOtherModesAreInterruptedInProcesses(t *testing.T) {
	if testing.Short() {
		t.Skip("sync is interrupted")
	}
	t.Parallel()
	modes := []string{job.Hybrid, "gba", "local-sgd"}
	for _, mode := range modes {
		s := setting{Training: small(mode), Steps: drainSteps}
		model, step := s.interrupted(t)
		s.Steps = step + restSteps
		s.resumed(t, model, step)
	}
}

// A sync training in processes that is saved on the way, after steps or after a time, ends with the bits of
// sequential training: its processes end and others continue, with hot rows that are chosen again if that is
// due. Every pause is reported.
func TestProcessesAreSavedOnTheWay(t *testing.T) {
	t.Parallel()
	when := []train.Options{{SaveEvery: 75}, {SaveAfter: 150 * time.Millisecond}}
	if testing.Short() {
		when = when[:1]
	}
	for _, o := range when {
		s := setting{Training: small(job.Sync), Steps: 200}
		s.Training.Training.EvaluateEvery = job.Every{Steps: 50}
		s.Training.Rows.Hot = job.Hot{Share: 0.02, Most: 20, Every: 20}
		o.SaveApart = saveApart(t.TempDir(), job.Sync)
		got, err := s.run(t.Context(), o, nil)
		if err != nil {
			t.Fatal(err)
		}
		want := s.mustEqualSequential(t, got)
		if len(got.Curve) != len(want.Curve) || got.MissedUpdates.Count() == 0 || len(got.Pauses) == 0 ||
			o.SaveEvery > 0 && (len(got.Pauses) != 2 || got.Pauses[1].Step != 150) {
			t.Errorf("%d points, %d in sequential training; pauses %+v", len(got.Curve), len(want.Curve),
				got.Pauses)
		}
		moved := 0
		for _, c := range got.HotChoices {
			moved += min(c.Promoted, c.Demoted)
		}
		if moved == 0 || got.HotRows != 20 || o.SaveEvery > 0 && len(got.HotChoices) != 2 {
			t.Errorf("%d hot rows, choices %+v", got.HotRows, got.HotChoices)
		}
		paused := time.Duration(0)
		for _, p := range got.Pauses {
			if p.Drain < 0 || p.Save <= 0 || p.Start <= 0 || p.Write <= 0 {
				t.Errorf("pause %+v", p)
			}
			paused += p.Save + p.Start
		}
		if got.Wall <= paused {
			t.Errorf("%v from the first process to the last, but pauses of %v", got.Wall, paused)
		}
	}
}

// Rows that age in processes end with the bits of sequential training, also where the training continues with
// other numbers of ranks and PSs: what waits for a row, and what was read, goes to its PS.
func TestRowsThatAgeContinueInProcesses(t *testing.T) {
	t.Parallel()
	s := setting{Training: small(job.Sync), Steps: drainSteps}
	s.Training.Rows.Expiry, s.Training.Rows.AdmissionCount = 7, 2
	model, step := s.interrupted(t)
	s.Steps, s.Training.Roles.Ranks, s.Training.Roles.EmbeddingPSs = step+restSteps, 2, 3
	if want := s.mustEqualSequential(t, s.resumed(t, model, step)); want.ExpiredRows == 0 {
		t.Error("no row has expired")
	}
}
