package driver

import (
	"fmt"
	"testing"

	"tandem/algo/protocol/event"
	"tandem/algo/protocol/msg"
	"tandem/algo/protocol/role"
)

// span says where the records of one kind about one batch are among all records: the positions of the first
// and the last one.
type span struct{ first, last, count int }

// timeline answers questions about the order of records.
type timeline struct {
	t     *testing.T
	about map[string]span
}

// name is what a record is about. Records about a whole step have no rank.
func name(k event.Kind, rank, step int32) string {
	return fmt.Sprint(k, " rank ", rank, " step ", step)
}

// at is name for one PS.
func at(server int32, what string) string { return fmt.Sprint("PS ", server, " ", what) }

func newTimeline(t *testing.T, all records) *timeline {
	l := &timeline{t, map[string]span{}}
	for i, r := range all {
		l.add(name(r.Kind, r.Rank, r.Step), i)
		if r.Role.Role == msg.EmbeddingPS {
			l.add(at(r.Role.Index, name(r.Kind, r.Rank, r.Step)), i)
		}
	}
	return l
}

func (l *timeline) add(what string, i int) {
	s, known := l.about[what]
	if !known {
		s.first = i
	}
	l.about[what] = span{s.first, i, s.count + 1}
}

// inOrder checks that all of these happened, every record about one of them
// before every record about the next.
func (l *timeline) inOrder(whats ...string) {
	l.t.Helper()
	for i, what := range whats {
		s, happened := l.about[what]
		if !happened {
			l.t.Errorf("%s: no record", what)
		} else if i > 0 && s.first < l.about[whats[i-1]].last {
			l.t.Errorf("%s is record %d, before %s, record %d", what, s.first, whats[i-1],
				l.about[whats[i-1]].last)
		}
	}
}

// checkBatch checks the records of one batch, from dispatch to the last acknowledgement.
func (l *timeline) checkBatch(rank, step int32, cfg *role.Config) {
	of := func(k event.Kind) string { return name(k, rank, step) }
	read := name(event.BatchRead, event.NoRank, step)
	l.inOrder(read, of(event.BatchDispatched), of(event.LookupIssued))
	l.inOrder(read, of(event.BatchRouted), of(event.LookupServed))
	l.inOrder(read, of(event.LookupIssued), of(event.LookupServed), of(event.Pooled),
		of(event.EmbeddingsArrived),
		of(event.ForwardStarted), of(event.BackwardStarted), of(event.SyncStarted), of(event.SyncDone),
		of(event.GradientsSent), of(event.PutApplied), of(event.BatchDone))
	l.inOrder(of(event.BackwardStarted), of(event.BackwardDone), of(event.SyncDone))
	l.inOrder(of(event.SyncDone), of(event.DenseApplied))
	for other := range cfg.Ranks { // an all-reduce needs every rank
		l.inOrder(name(event.SyncStarted, other, step), of(event.SyncDone))
	}
	if step+1 < cfg.Steps {
		l.inOrder(of(event.DenseApplied), name(event.ForwardStarted, rank, step+1))
	}
}

// checkStep checks that no lookup of the next step is served on a PS before the
// step is closed there, and that it closes when every rank has put.
func (l *timeline) checkStep(server, step int32, cfg *role.Config) {
	closed := at(server, name(event.StepClosed, event.NoRank, step))
	for rank := range cfg.Ranks {
		l.inOrder(name(event.GradientsSent, rank, step), closed,
			at(server, name(event.PutApplied, rank, step)))
		if step+1 < cfg.Steps {
			l.inOrder(closed, at(server, name(event.LookupServed, rank, step+1)))
		}
	}
}

// Observers see the records of all roles in an order that respects causality.
func TestRecordsRespectCausality(t *testing.T) {
	for _, rule := range rules() {
		t.Run(fmt.Sprintf("%+v", rule), func(t *testing.T) {
			var all records
			cfg, p := cluster(t, rule, steps(20))
			if err := Run(t.Context(), cfg, p, watchedBy(&all)); err != nil {
				t.Fatal(err)
			}
			l := newTimeline(t, all)
			for step := range cfg.Steps {
				for rank := range cfg.Ranks {
					l.checkBatch(rank, step, cfg)
				}
				for server := range cfg.EmbeddingPSs {
					if rule.InStep() {
						l.checkStep(server, step, cfg)
					}
				}
			}
		})
	}
}

// Every batch is read, issued, trained, applied and done exactly once.
func TestEveryBatchHappensOnce(t *testing.T) {
	for _, rule := range rules() {
		var all records
		cfg, p := cluster(t, rule, steps(20))
		if err := Run(t.Context(), cfg, p, watchedBy(&all)); err != nil {
			t.Fatal(err)
		}
		count := map[event.Kind]int32{}
		for _, r := range all {
			count[r.Kind]++
		}
		batches := cfg.Steps * cfg.Ranks
		for _, k := range []event.Kind{
			event.BatchDispatched, event.BatchRouted, event.LookupIssued, event.Pooled,
			event.EmbeddingsArrived,
			event.ForwardStarted, event.BackwardStarted, event.BackwardDone, event.SyncStarted,
			event.SyncDone,
			event.GradientsSent, event.DenseApplied, event.BatchDone,
		} {
			if count[k] != batches {
				t.Errorf("%+v: %d × %v, want %d", rule, count[k], k, batches)
			}
		}
		if count[event.BatchRead] != cfg.Steps || count[event.PutRepeated] != 0 ||
			count[event.PutApplied] != count[event.LookupServed] {
			t.Errorf("%+v: %d batches read, %d puts repeated, %d lookups, %d puts", rule,
				count[event.BatchRead], count[event.PutRepeated], count[event.LookupServed],
				count[event.PutApplied])
		}
	}
}
