package report

// Meter reports the progress of an experiment over all its runs.
type Meter struct {
	Done, Total int // numbers of runs
	Report      func(done, total int, what string)
}

// perRun is the number of units of progress of one run.
const perRun = 100

// Show reports that the current run has done a number of its steps.
func (m *Meter) Show(done, steps int, what string) {
	if m.Report != nil {
		m.Report(m.Done*perRun+done*perRun/steps, m.Total*perRun, what)
	}
}
