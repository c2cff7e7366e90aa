package report

// Meter tells how much of all the runs of an experiment is done.
type Meter struct {
	Done, Total int // runs
	Report      func(done, total int, what string)
}

// perRun is the number of marks that one run is divided into.
const perRun = 100

// Show reports the run at hand, done of steps.
func (m *Meter) Show(done, steps int, what string) {
	if m.Report != nil {
		m.Report(m.Done*perRun+done*perRun/steps, m.Total*perRun, what)
	}
}
