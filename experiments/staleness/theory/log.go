package theory

import (
	"slices"

	"tandem/experiments/internal/report"
)

// log has all measurements that have ended.
type log struct {
	journal *report.Journal[line]
	run     string // the id of the run
	results map[probe]outcome
}

// line is a measurement in the journal.
type line struct {
	Run     string  `json:"run"`
	Probe   probe   `json:"probe"`
	Outcome outcome `json:"outcome"`
}

// openLog opens or creates the log of a results folder.
func openLog(o report.Options) (*log, error) {
	journal, err := report.OpenJournal[line](o, "measurements.jsonl")
	if err != nil {
		return nil, err
	}
	l := &log{journal, o.Run, map[probe]outcome{}}
	for _, one := range journal.Kept {
		l.results[one.Probe] = one.Outcome
	}
	return l, nil
}

// missing returns the distinct probes that have no outcome, in their order.
func (l *log) missing(all []probe) []probe {
	var missing []probe
	for _, one := range all {
		if _, ok := l.results[one]; !ok && !slices.Contains(missing, one) {
			missing = append(missing, one)
		}
	}
	return missing
}

// add adds an outcome, and returns when it is on disk.
func (l *log) add(p probe, o outcome) error {
	if err := l.journal.Add(line{l.run, p, o}); err != nil {
		return err
	}
	l.results[p] = o
	return nil
}
