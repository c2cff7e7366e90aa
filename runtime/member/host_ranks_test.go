package member

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"tandem/algo/job"
	"tandem/algo/protocol/msg"
	"tandem/runtime/driver"
	"tandem/runtime/member/control"
)

// sentTo keeps what a host sends to a member.
type sentTo struct{ messages []*control.ToMember }

func (s *sentTo) Send(m *control.ToMember) error {
	s.messages = append(s.messages, m)
	return nil
}

// rankHost is a host in training, with processes of a PS and three ranks.
type rankHost struct {
	*Host
	t    *testing.T
	sent map[*member]*sentTo
}

func newRankHost(t *testing.T) *rankHost {
	h, err := newHost(Plan{Processes: []job.Process{{server}, {nnWorker(0)}, {nnWorker(1)}, {nnWorker(2)}},
		Ranks: 3, Schema: schema, Steps: 7, DeathsMax: 9, ReturnLimit: time.Hour,
		Restartable: func(r msg.Role) bool { return r == msg.NNWorker }})
	if err != nil {
		t.Fatal(err)
	}
	r := &rankHost{h, t, map[*member]*sentTo{}}
	h.begun, h.phase = time.Now(), connecting
	for _, s := range h.processes {
		r.join(s)
		s.member.ready = true
		h.begin(s, nil)
	}
	h.phase = training
	return r
}

func nnWorker(i int32) msg.Address { return msg.Address{Role: msg.NNWorker, Index: i} }

func (r *rankHost) join(s *process) {
	m, sent := newMember(s, "machine"), &sentTo{}
	m.stream, r.sent[m] = sent, sent
	if refused := r.assign(m); refused != nil {
		r.t.Fatal(refused)
	}
}

func (r *rankHost) rank(i int32) *process { return r.byRole[nnWorker(i)] }

// comeBack makes the process of a rank that has died join, and be ready.
func (r *rankHost) comeBack(i int32) {
	r.t.Helper()
	r.join(r.rank(i))
	r.send(i, &control.FromMember{What: &control.FromMember_Ready{Ready: &control.Ready{}}})
}

func (r *rankHost) die(i int32) error { return r.died(r.rank(i).member, "has died") }

func (r *rankHost) send(i int32, m *control.FromMember) {
	r.t.Helper()
	if err := r.handle(r.rank(i).member, m); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rankHost) answer(i, steps int32, all bool) {
	r.t.Helper()
	rank := &control.Rank{Steps: steps, All: all}
	r.send(i, &control.FromMember{What: &control.FromMember_Rank{Rank: rank}})
}

// mustBe checks the questions to the ranks, and what they begin with, since the call before.
func (r *rankHost) mustBe(want string) {
	r.t.Helper()
	var got []string
	for i := range int32(3) {
		m := r.rank(i).member
		if m == nil {
			continue
		}
		for _, message := range r.sent[m].messages {
			switch what := message.What.(type) {
			case *control.ToMember_ReadRank:
				got = append(got, fmt.Sprintf("%d: asked, all %t", i, what.ReadRank.All))
			case *control.ToMember_Start:
				if what.Start.Rank != nil {
					got = append(got, fmt.Sprintf("%d: begins with step %d", i, what.Start.Rank.Steps))
				}
			}
		}
		r.sent[m].messages = nil
	}
	if text := strings.Join(got, "; "); text != want {
		r.t.Errorf("%q, want %q", text, want)
	}
}

// A rank that is back begins with what the rank has that has made the fewest steps. If that one dies before
// it has answered, another is asked.
func TestRankBeginsWithTheParametersOfAnother(t *testing.T) {
	r := newRankHost(t)
	if err := r.die(2); err != nil {
		t.Fatal(err)
	}
	r.comeBack(2)
	r.mustBe("0: asked, all false; 1: asked, all false")
	r.answer(0, 5, false)
	r.mustBe("")
	r.answer(1, 4, false)
	r.mustBe("1: asked, all true")
	if err := r.die(1); err != nil {
		t.Fatal(err)
	}
	r.mustBe("0: asked, all true")
	r.comeBack(1)
	r.answer(0, 5, true)
	r.mustBe("1: begins with step 5; 2: begins with step 5")
	if slices.Contains([]bool{r.rank(1).member.begun, r.rank(2).member.begun}, false) {
		t.Error("a rank does not train")
	}
}

// If no process has what ranks need, all are lost. An answer that was not requested ends a membership.
func TestRanksWithoutAnother(t *testing.T) {
	r := newRankHost(t)
	for i := range int32(2) {
		if err := r.die(i); err != nil {
			t.Fatal(err)
		}
	}
	r.comeBack(0)
	var lost *driver.LostError
	if err := r.die(2); !errors.As(err, &lost) ||
		!strings.Contains(err.Error(), "no other process has the parameters") {
		t.Errorf("error %v", err)
	}
	r = newRankHost(t)
	m := r.rank(1).member
	r.answer(1, 3, true)
	if r.rank(1).member == m {
		t.Error("a rank that answers without a question stays")
	}
}

// A rank whose process has all embedding workers does not come back, nor does a rank after the last step.
func TestRanksThatDoNotComeBack(t *testing.T) {
	second := msg.Address{Role: msg.EmbeddingWorker, Index: 1}
	for _, processes := range [][]job.Process{
		{{worker}, {nnWorker(0)}}, {{worker, nnWorker(0)}}, {{worker, nnWorker(0)}, {second}},
		{{worker, second, nnWorker(0)}, {nnWorker(1)}}, {{worker, nnWorker(0)}, {second, nnWorker(1)}},
	} {
		h, err := newHost(Plan{Processes: processes, Ranks: 2, Schema: schema, Steps: 7, DeathsMax: 1,
			Restartable: func(msg.Role) bool { return true }})
		if err != nil {
			t.Fatal(err)
		}
		h.phase = training
		want := len(processes) > 1 && !processes[0].Has(second)
		s, why := h.byRole[nnWorker(0)], ""
		if !want {
			why = "; it cannot come back, because no other process has an embedding worker"
		}
		if h.mayReturn(s) != want || h.noReturn(s) != why {
			t.Errorf("%v: rank 0 comes back %t; %q", processes, !want, h.noReturn(s))
		}
		if h.phase = stopped; h.mayReturn(s) {
			t.Errorf("%v: a rank comes back after the last step", processes)
		}
	}
}
