package process

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"tandem/algo/exec"
	"tandem/algo/exec/backend"
	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/model"
	"tandem/algo/numeric/opt"
	"tandem/algo/protocol/event"
	"tandem/algo/protocol/msg"
	"tandem/algo/protocol/role"
	"tandem/algo/rng"
	"tandem/algo/unit"
	"tandem/runtime/cuda/engine"
	"tandem/runtime/driver"
	"tandem/runtime/member"
	"tandem/runtime/record"
	"tandem/runtime/train"
)

// This test program is also every process that it starts: see play.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "play" {
		if err := play(os.Args[2], os.Args[3:]); err != nil {
			fmt.Fprintln(os.Stderr, "node: error:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// setting is what a process reads from its environment.
type setting struct {
	Training job.Job
	Steps    int
	Alive    string // if not empty, where to hold a connection as long as it lives
	Record   string // if not empty, the folder to record in
	Panic    string // if not empty, the name of the role that panics at its 20th input
	Redo     string // if not empty, the folder of redo logs
	Asked    string // if not empty, the name of the rank whose process is asked to end at its 5th step
	Fast     bool   // batches are read as fast as ranks want them: see slowRows

	stderr io.Writer // of the launcher
}

const settingName = "TANDEM_LAUNCH_TEST"

// play is a process of a test: one with roles, one that cannot be reached, or a launcher of processes.
func play(what string, args []string) error {
	var s setting
	if err := json.Unmarshal([]byte(os.Getenv(settingName)), &s); err != nil {
		return err
	}
	if s.Alive != "" && what != "launcher" {
		if _, err := net.Dial("tcp", s.Alive); err != nil {
			return err
		}
	}
	if what == "launcher" {
		_, err := s.run(context.Background(), train.Options{}, nil)
		return err
	}
	host := args[0]
	var roles job.Process
	if err := json.Unmarshal([]byte(args[1]), &roles); err != nil {
		return err
	}
	if number, hostile := strings.CutPrefix(what, "treason "); hostile {
		return betray(mustInt(number), host)
	}
	if what == "unreachable" {
		return unreachable(roles, host)
	}
	recorder, err := s.recorder()
	if err != nil {
		return err
	}
	if s.Panic == roles.String() {
		recorder = panics{}
	}
	asked := &askedToEnd{asked: make(chan struct{}), rank: s.Asked}
	var machine backend.Backend
	if _, err := engine.Attach(&machine, &s.Training); err != nil {
		return err
	}
	c := Config{
		Process: roles, Listen: "127.0.0.1:0", Host: host, JoinTimeout: 5 * time.Second,
		Fingerprint: []byte(what), Job: s.Training, Backend: machine,
		Recorder: recorder, Observer: asked, Asked: asked.asked,
		Open: s.open,
	}
	var kept Kept
	for {
		if err := Run(context.Background(), c, &kept); !errors.Is(err, ErrContinues) {
			return err
		}
	}
}

// recorder returns what keeps a recording, if there is to be one. The end of the
// process closes its files.
func (s setting) recorder() (driver.Recorder, error) {
	if s.Record == "" {
		return nil, nil
	}
	folder, err := record.Create(s.Record, []byte("a job"))
	if err != nil {
		return nil, err
	}
	folder.Through = true
	return folder, nil
}

// askedToEnd asks a process to end when a rank has trained five steps.
type askedToEnd struct {
	asked chan struct{}
	rank  string
}

func (a *askedToEnd) Observe(e event.Record) {
	if e.Kind == event.DenseApplied && e.Role.String() == a.rank && e.Step == 4 {
		close(a.asked)
	}
}

// panics is a recorder that panics at the 20th input of the first incarnation of a role.
type panics struct{}

func (panics) Open(_ msg.Address, incarnation uint32, _ *role.Config) (driver.Log, error) {
	return &panicLog{again: incarnation > 0}, nil
}

type panicLog struct {
	again  bool
	inputs int
}

func (p *panicLog) Step(unit.Tick, *role.Input, exec.Payload, []role.Output) error {
	if p.inputs++; p.inputs == 20 && !p.again {
		panic("too many inputs")
	}
	return nil
}

func (*panicLog) Finish(uint64) error { return nil }

func mustInt(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		panic(err)
	}
	return n
}

// unreachable joins with an address at which no process listens: tests listen at 127.0.0.1 alone, where the
// system might give a port that was free a moment ago to one of them.
func unreachable(roles job.Process, host string) error {
	m, err := member.Join(context.Background(), host,
		member.Hello{Process: roles, Address: "127.0.0.7:9", Job: []byte("role")}, time.Second)
	if err != nil {
		return err
	}
	<-m.Context().Done()
	return m.Leave(context.Cause(m.Context()))
}

// run trains in processes. change, if not nil, may alter the cluster.
func (s setting) run(ctx context.Context, o train.Options, change func(*Cluster)) (*train.Result, error) {
	text, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	c := New(Options{
		Listen: "127.0.0.1:0", Job: s.Training, Fingerprint: []byte("role"),
		Environment: []string{settingName + "=" + string(text)},
		Command:     func(s Start) []string { return command("role", s) },
		Stderr:      s.stderr, Limits: Limits{Deaths: 3}, Drains: true, Redo: s.Redo,
	})
	if change != nil {
		change(c)
	}
	o.Cluster = c
	rows := s.rows()
	result, err := train.Run(ctx, s.Training, rows, rows.all, o)
	c.Close(err)
	return result, err
}

// open opens the samples of a process.
func (s setting) open() (batch.Source, error) {
	if s.Fast {
		return s.rows(), nil
	}
	return slowRows{s.rows()}, nil
}

// rows returns the samples of a setting. The first slot has the dimension and the class of the job's first
// setting of a slot, if there is one, and two ids a sample if it takes their maximum. The ids of the other
// slot then have weights.
func (s setting) rows() *rows {
	r := newRows(s.Steps)
	for i, own := range s.Training.SlotRows() {
		if i == 0 {
			r.first.Dim, r.first.Class = own.Dim, own.Class
		}
	}
	if slots := s.Training.Data.Slots; len(slots) > 0 && slots[0].Pooling == job.PoolMax {
		r.first.Pooling = batch.Max
		pairs := batch.Jagged{Offsets: []int32{0}}
		for i, user := range r.all.Slots[0].IDs {
			pairs.IDs = append(pairs.IDs, user, (user+7)%40)
			pairs.Offsets = append(pairs.Offsets, int32(2*i+2))
		}
		r.all.Slots[0] = pairs
		for i := range r.all.Slots[1].IDs {
			r.all.Slots[1].Weights = append(r.all.Slots[1].Weights, float32(i%5)-1.5)
		}
	}
	return r
}

// maxima are settings by which the first slot takes maxima, of rows of another length and optimizer.
func maxima() []job.SlotSetting {
	sgd := opt.DefaultRow()
	sgd.Kind, sgd.Rate = opt.SGD, 0.1
	return []job.SlotSetting{{Slot: "user", Dim: 9, Pooling: job.PoolMax, Optimizer: &sgd}}
}

func command(what string, s Start) []string {
	roles, err := json.Marshal(s.Process)
	if err != nil {
		panic(err)
	}
	return []string{os.Args[0], "play", what, s.Host, string(roles)}
}

const batchSize = 32

// rows are samples in memory: two slots, a numeric feature, and a label that
// depends on both.
type rows struct {
	all   *batch.Batch
	steps int
	first batch.Slot // what the first slot has of its own; its Dim is 0 if it is that of the other
}

func (r *rows) Steps() int      { return r.steps }
func (r *rows) Samples(int) int { return batchSize }
func (r *rows) Schema() *batch.Schema {
	first := r.first
	first.Name, first.Dim = "user", cmp.Or(first.Dim, 4)
	return &batch.Schema{
		Slots: []batch.Slot{first, {Name: "item", Dim: 4, Weighted: r.all.Slots[1].Weights != nil}},
		Dense: []string{"age"}, Labels: []string{"click"}, PrefixBits: 8,
	}
}
func (r *rows) Read(step int) (*batch.Batch, error) {
	first := step * batchSize % r.all.Samples
	return batch.Slice(r.all, first, first+batchSize), nil
}

// slowRows are read at 500 batches a second at most. Progress is reported ten times a second, and without a
// bound a whole run may end between two reports, before a test has killed a process.
type slowRows struct{ *rows }

func (r slowRows) Read(step int) (*batch.Batch, error) {
	time.Sleep(2 * time.Millisecond)
	return r.rows.Read(step)
}

// newRows draws the samples of a number of steps. Those of a run that no test waits for are repeated.
func newRows(steps int) *rows {
	draw := rng.New(1, "rows")
	b := &batch.Batch{Samples: min(steps, 1000) * batchSize,
		Slots: []batch.Jagged{{Offsets: []int32{0}}, {Offsets: []int32{0}}}}
	for i := range b.Samples {
		user, x := draw.Uint64N(40), draw.NormFloat64()
		for s, id := range []uint64{user, draw.Uint64N(90)} {
			b.Slots[s].IDs = append(b.Slots[s].IDs, id)
			b.Slots[s].Offsets = append(b.Slots[s].Offsets, int32(i+1))
		}
		label := float32(0)
		if x+float64(user%5)-2 > 0 {
			label = 1
		}
		b.Dense, b.Labels = append(b.Dense, float32(x)), append(b.Labels, label)
	}
	return &rows{all: b, steps: steps}
}

// small returns a job of 4 ranks, 2 EWs and 2 PSs.
func small(mode string) job.Job {
	t := job.Default()
	t.Training.Mode, t.Training.GlobalBatch, t.Training.Prefetch = mode, batchSize, 4
	t.Model.Spec = model.Spec{Kind: model.FeedForward, EmbeddingDim: 4, Top: []int{8}, Activation: model.ReLU,
		BatchNorm: true}
	return t
}
