package member

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"tandem/algo/exec"
	"tandem/algo/histogram"
	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/model"
	"tandem/algo/protocol/event"
	"tandem/algo/protocol/msg"
	"tandem/runtime/driver"
	"tandem/runtime/member/control"
)

var (
	loader  = msg.Address{Role: msg.DataLoader}
	server  = msg.Address{Role: msg.EmbeddingPS}
	trainer = msg.Address{Role: msg.NNWorker}
	schema  = &batch.Schema{Slots: []batch.Slot{{Name: "user", Dim: 2}}, Labels: []string{"click"},
		PrefixBits: 8}
	ours = []byte("a job")
	data = []byte("its data")
)

// run is a host during a run.
type run struct {
	t       *testing.T
	host    *Host
	address string
	watched chan string // calls of Callbacks
	records []event.Record
	ended   chan error
	stop    func() // of trainingRun: ends the training
}

// hosted returns a run of three roles whose training has not begun. change, if not nil, may alter its plan.
func hosted(t *testing.T, change func(*Plan)) *run {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	plan := Plan{
		Job: ours, Data: data, Processes: []job.Process{{loader}, {server}, {trainer}}, Ranks: 1,
		Schema: schema, Steps: 7,
	}
	if change != nil {
		change(&plan)
	}
	host, err := NewHost(listener, plan)
	if err != nil {
		t.Fatal(err)
	}
	return &run{t: t, host: host, address: listener.Addr().String(), watched: make(chan string, 100),
		ended: make(chan error, 1)}
}

// start hosts a run of three roles. change, if not nil, may alter its plan.
func start(t *testing.T, change func(*Plan)) *run {
	r := hosted(t, change)
	go func() {
		err := r.host.Train(context.Background(), Callbacks{
			Callbacks: driver.Callbacks{
				Started:  func(func()) { r.watched <- "started" },
				Loss:     func(float64, int) {},
				Progress: func(steps int) { r.watched <- "progress " + string(rune('0'+steps)) },
				BeforeStep: func(step int) error {
					values := make([]float32, 4)
					err := r.host.ReadRows(context.Background(), 0, []uint64{10, 20}, values)
					r.watched <- "read " +
						string(rune('0'+step)) + cmp.Diff([]float32{10, 10, 20, 20}, values)
					return err
				},
				Observe: func(e event.Record) { r.records = append(r.records, e) },
			},
			Gathering: func(missing []job.Process) { r.watched <- "missing " + missing[0].String() },
		})
		r.ended <- err
		if err != nil {
			r.host.Close(err)
		}
	}()
	return r
}

func (r *run) join(at msg.Address) *Member {
	hello := Hello{Process: job.Process{at}, Address: ":100" + string(rune('0'+at.Role)), Job: ours}
	if at.Role == msg.DataLoader {
		hello.Data = data
	}
	m, err := Join(r.t.Context(), r.address, hello, time.Second)
	if err != nil {
		r.t.Fatal(err)
	}
	return m
}

// all makes every role join and receive its welcome.
func (r *run) all() map[msg.Address]*Member {
	members := map[msg.Address]*Member{}
	for _, at := range []msg.Address{loader, server, trainer} {
		members[at] = r.join(at)
	}
	for at, m := range members {
		w, err := m.Welcome()
		if err != nil {
			r.t.Fatal(err)
		}
		want := &Welcome{Run: r.host.Run(), Peers: []Peer{
			{Process: job.Process{loader}, Address: "127.0.0.1:1000"},
			{Process: job.Process{server}, Address: "127.0.0.1:1002"},
			{Process: job.Process{trainer}, Address: "127.0.0.1:1003"},
		}, Roles: job.Process{at}, Schema: schema, Steps: 7}
		if diff := cmp.Diff(want, w); diff != "" {
			r.t.Errorf("%v: %s", at, diff)
		}
	}
	return members
}

// modelReader is a ModelReader of rows whose values are their signs.
type modelReader struct{}

func (modelReader) ReadRows(_ int, signs []uint64) (values []float32, err error) {
	for _, s := range signs {
		values = append(values, float32(s), float32(s))
	}
	return values, nil
}

func (modelReader) ReadDense(msg.Address) (model.Values, error) {
	return model.Values{Params: []float32{1, 2}, Running: []float32{3}}, nil
}

func (modelReader) RankSteps() int { return 0 }

func (modelReader) CopyRank() (exec.RankState, error) { return exec.RankState{}, nil }

func (modelReader) Digests() (driver.Digests, error) {
	return driver.Digests{Roles: map[msg.Address]uint64{server: 2, trainer: 3}, Hot: 4}, nil
}

func (modelReader) Export(folder, name string, fullEvery int) error {
	return os.WriteFile(filepath.Join(folder, name), []byte{byte(fullEvery)}, 0o644)
}

// A whole run, from the first role that joins to the last that leaves.
func TestRun(t *testing.T) {
	r := start(t, nil)
	members := r.all()
	left := make(chan error, 3)
	for at, m := range members {
		go func() { left <- play(at, m) }()
	}
	if err := <-r.ended; err != nil {
		t.Fatal(err)
	}
	var missed histogram.Histogram
	missed.Add(5)
	report := r.host.Reports()[1]
	if report.Rows != 9 ||
		cmp.Diff(report.Missed.Summary(), missed.Summary()) != "" {
		t.Errorf("%+v", report)
	}
	var order []string
	for _, record := range r.records {
		order = append(order, record.String())
	}
	if diff := cmp.Diff([]string{
		"data-loader 0: batch-read rank 0 step 1", "embedding-ps 0: batch-read rank 0 step 1",
		"nn-worker 0: batch-read rank 0 step 1",
		"data-loader 0: batch-read rank 0 step 2", "embedding-ps 0: batch-read rank 0 step 2",
		"nn-worker 0: batch-read rank 0 step 2",
	}, order); diff != "" {
		t.Error(diff)
	}
	dense, err := r.host.ReadDense(t.Context(), trainer)
	if err != nil || cmp.Diff(model.Values{Params: []float32{1, 2}, Running: []float32{3}}, dense) != "" {
		t.Error(dense, err)
	}
	digests, err := r.host.Digests(t.Context())
	if diff := cmp.Diff([]driver.Digests{ // of the PS and of the rank
		{Roles: map[msg.Address]uint64{server: 2}, Hot: 4},
		{Roles: map[msg.Address]uint64{trainer: 3}, Hot: 4},
	}, digests); err != nil || diff != "" {
		t.Error(diff, err)
	}
	folder := t.TempDir()
	export, err := r.host.Export(t.Context(), folder, 7)
	if err != nil || len(export.Names) != 2 { // of the PS and of the rank
		t.Fatal(export, err)
	}
	for _, saved := range []error{members[server].Saved("elsewhere", errors.New("of an earlier export")),
		members[server].Saved(folder, nil), members[server].Saved(folder, nil),
		members[trainer].Saved(folder, errors.New("disk full"))} {
		if saved != nil {
			t.Error(saved)
		}
	}
	if err := r.host.AwaitExport(t.Context(), export); fmt.Sprint(err) != "nn-worker 0: disk full" {
		t.Error(err)
	}
	for _, name := range export.Names {
		if text, err := os.ReadFile(filepath.Join(folder, name)); err != nil || string(text) != "\x07" {
			t.Errorf("%q, %v", text, err)
		}
	}
	if r.host.Wall() <= 0 {
		t.Error("no time has passed")
	}
	r.host.Close(nil)
	for range members {
		if err := <-left; err != nil {
			t.Error(err)
		}
	}
	close(r.watched)
	var calls []string
	for w := range r.watched {
		if !strings.HasPrefix(w, "missing ") { // the order of joining is not fixed
			calls = append(calls, w)
		}
	}
	if diff := cmp.Diff([]string{"started", "read 3", "progress 4"}, calls); diff != "" {
		t.Error(diff)
	}
}

// A host that is asked to end does not wait for processes that may never come.
func TestHostEndsWhileProcessesAreMissing(t *testing.T) {
	r := start(t, nil)
	r.join(loader)
	for next := ""; next != "missing "+(job.Process{server}).String(); next = <-r.watched {
	}
	r.host.Drain() // else it could come before the loader
	if err := <-r.ended; !errors.Is(err, driver.ErrNotBegun) ||
		!strings.Contains(err.Error(), "2 are missing") {
		t.Errorf("error %v; want ErrNotBegun of 2 processes", err)
	}
}

// A process that joins again for the next part of a run finds no Host until that part is served: the Host of
// the part before does not refuse it as too late.
func TestMembersJoinTheNextPart(t *testing.T) {
	for range 5 {
		r := start(t, nil)
		members := r.all()
		again := make(chan error, len(members))
		for at, m := range members {
			go func() {
				if err := play(at, m); err != nil || !m.Continues() {
					again <- fmt.Errorf("%v: %w, continues: %t", at, err, m.Continues())
					return
				}
				_, err := Join(t.Context(), r.address, Hello{Process: job.Process{at}, Address: ":2000",
					Job: ours, Data: data}, 50*time.Millisecond)
				again <- err
			}()
		}
		if err := <-r.ended; err != nil {
			t.Fatal(err)
		}
		r.host.CloseContinued()
		for range members {
			if err := <-again; err == nil || !strings.Contains(err.Error(), "no host answers at ") {
				t.Errorf("%v; want that no host answers", err)
			}
		}
	}
}

// After a loss, members have a second and a half to leave, before they join the next part of the run. Those
// that take longer are away.
func TestMembersAbandonThePart(t *testing.T) {
	r := hosted(t, nil)
	go func() {
		r.ended <- r.host.Train(context.Background(),
			Callbacks{Gathering: func([]job.Process) {}})
	}()
	members := r.all()
	members[trainer].conn.Close()
	if err := <-r.ended; err == nil {
		t.Fatal("a part without a trainer has succeeded")
	}
	go func() {
		<-members[loader].Context().Done()
		if !members[loader].Continues() {
			t.Error("the loader does not join the next part")
		}
		time.Sleep(700 * time.Millisecond)
		_ = members[loader].Leave(context.Cause(members[loader].Context()))
	}()
	begun := time.Now()
	away := r.host.CloseContinued()
	if took := time.Since(begun); took >= closeTimeout {
		t.Errorf("the host has waited for %v", took)
	}
	var names []string
	for _, p := range away {
		names = append(names, p.String())
	}
	if len(away) != 2 || !away[0].Has(server) || !away[1].Has(trainer) {
		t.Errorf("%v are away, want the embedding PS, which stays, and the trainer, which is lost", names)
	}
}

// play is a role that follows the protocol.
func play(at msg.Address, m *Member) error {
	if _, _, err := m.Ready(modelReader{}); err != nil {
		return m.Leave(err)
	}
	return finish(at, m)
}

// finish is the rest of play, from the first step on.
func finish(at msg.Address, m *Member) (err error) {
	defer func() { err = m.Leave(err) }()
	if at == trainer {
		if err := errors.Join(m.BeforeStep(3), m.Progress(4, 0, 0)); err != nil {
			return err
		}
	}
	if err := m.Finished(); err != nil {
		return err
	}
	var missed histogram.Histogram
	missed.Add(5)
	for _, r := range []event.Record{{At: 10 + 1, Role: at, Kind: event.BatchRead, Step: 1},
		{At: 20, Role: at, Kind: event.BatchRead, Step: 2}} {
		if err := m.Records([]event.Record{r}, r.At); err != nil {
			return err
		}
	}
	return m.Report(driver.Report{Rows: 9, Missed: missed}, modelReader{})
}

// A process that does not belong to the run learns why, and the host waits for the right one.
func TestRefusals(t *testing.T) {
	r := start(t, nil)
	r.host.build = "abc"
	first := r.join(loader)
	for _, c := range []struct {
		hello *control.Hello
		want  string
	}{
		{&control.Hello{Roles: toRoles(job.Process{server}), Protocol: protocol + 1, Job: ours},
			"embedding-ps 0 speaks version 13 of the protocol, the host version 12: start all roles from " +
				"one build"},
		{&control.Hello{Roles: toRoles(job.Process{server}), Protocol: protocol, Build: "def", Job: ours},
			"embedding-ps 0 was built from commit def, the host from abc: start all roles from one build"},
		{&control.Hello{Roles: toRoles(job.Process{server}), Protocol: protocol, Job: []byte("yours")},
			"embedding-ps 0 was started with another job than the host: give every role the same job file"},
		{&control.Hello{Roles: []*control.Role{{Kind: 2, Index: 4}}, Protocol: protocol, Job: ours},
			"embedding-ps 4 has no part in this job: see its section roles"},
		{&control.Hello{Roles: []*control.Role{{Kind: 200}}, Protocol: protocol, Job: ours},
			"role 200, index 0 is unknown: start all roles from one build"},
		{&control.Hello{Roles: []*control.Role{{Kind: 256 + 2}}, Protocol: protocol, Job: ours},
			"role 258, index 0 is unknown: start all roles from one build"},
		{&control.Hello{Roles: toRoles(job.Process{server}), Protocol: protocol, Job: ours,
			Run: make([]byte, 16)},
			"embedding-ps 0 belongs to run 00000000000000000000000000000000, the host serves run " +
				fmt.Sprintf("%x: two runs share an address, give each its own", r.host.Run())},
		{&control.Hello{Roles: toRoles(job.Process{server}), Protocol: protocol, Job: ours,
			Address: "nowhere"},
			`embedding-ps 0 gives "nowhere" as its address: want HOST:PORT`},
		{&control.Hello{Roles: toRoles(job.Process{loader}), Protocol: protocol, Job: ours,
			Data: []byte("yours")},
			"data-loader 0 reads other data than the host: give both the same files, under the paths of " +
				"the job file"},
		{&control.Hello{Roles: toRoles(job.Process{loader}), Protocol: protocol, Job: ours, Data: data,
			Address: ":1"},
			"data-loader 0 has joined already, from 127.0.0.1:1000: give every process of a role its own " +
				"--index"},
	} {
		m, err := joinAs(t.Context(), r.address, c.hello, nil, time.Second)
		if err != nil {
			t.Fatal(err)
		}
		_, err = m.Welcome()
		if err = m.Leave(err); err == nil || err.Error() != c.want {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
	r.join(server)
	r.join(trainer)
	if _, err := first.Welcome(); err != nil {
		t.Error(err)
	}
}

// A process that leaves before all have joined may join again.
func TestProcessMayJoinAgain(t *testing.T) {
	r := start(t, nil)
	m := r.join(server)
	<-r.watched // before it joins
	<-r.watched // when it has joined
	m.conn.Close()
	<-r.watched // after it left, else it would be refused
	r.all()
}

// When a process dies, all others learn which one within 5 s.
func TestDeathIsBroadcast(t *testing.T) {
	r := start(t, nil)
	members := r.all()
	members[server].conn.Close()
	const want = "embedding-ps 0 at 127.0.0.1:1002 has died: its connection broke"
	for _, at := range []msg.Address{loader, trainer} {
		mustEnd(t, members[at], want)
	}
	if err := <-r.ended; err == nil || err.Error() != want {
		t.Error(err)
	}
}

// mustEnd waits until a member's run has ended with a reason.
func mustEnd(t *testing.T, m *Member, want string) {
	t.Helper()
	select {
	case <-m.Context().Done():
		if err := m.Leave(context.Cause(m.Context())); err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	case <-time.After(5 * time.Second):
		t.Errorf("no end within 5 s, want %s", want)
	}
}

// If a member reports that it lost another before the host notices that the other died, the reason is still
// that death.
func TestLossIsExplained(t *testing.T) {
	r := start(t, nil)
	members := r.all()
	if err := members[trainer].Lost(server, 0, errors.New("lost it")); err != nil {
		t.Fatal(err)
	}
	members[server].conn.Close()
	const want = "embedding-ps 0 at 127.0.0.1:1002 has died: its connection broke"
	mustEnd(t, members[trainer], want)
	mustEnd(t, members[loader], want)
}

// If both ends of a lost connection live, the connection is the reason.
func TestLossWithoutDeath(t *testing.T) {
	r := start(t, nil)
	members := r.all()
	if err := members[trainer].Lost(server, 0, errors.New("cannot reach it")); err != nil {
		t.Fatal(err)
	}
	mustEnd(t, members[server], "cannot reach it")
	mustEnd(t, members[trainer], "cannot reach it")
}

func TestFailureIsBroadcast(t *testing.T) {
	r := start(t, nil)
	members := r.all()
	if err := members[loader].Leave(errors.New("disk on fire")); err.Error() != "disk on fire" {
		t.Error(err)
	}
	mustEnd(t, members[trainer], "disk on fire")
}

// When the host is gone, every member notices.
func TestMembersNoticeThatTheHostIsGone(t *testing.T) {
	r := start(t, nil)
	members := r.all()
	gone := make(chan struct{})
	defer close(gone)
	r.host.post(func() error { <-gone; return nil }) // a host that is gone handles no event
	r.host.server.Stop()
	for at, m := range members {
		select {
		case <-m.Context().Done():
			if err := context.Cause(m.Context()); err.Error() != "the host at "+r.address+
				" is gone: its connection broke" {
				t.Errorf("%v: %v", at, err)
			}
		case <-time.After(5 * time.Second):
			t.Errorf("%v stays", at)
		}
	}
}

func TestJoinNeedsAHost(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	listener.Close()
	_, err = Join(t.Context(), listener.Addr().String(), Hello{Process: job.Process{server}, Job: ours},
		300*time.Millisecond)
	if err == nil || !strings.HasPrefix(err.Error(), "no host answers at 127.0.0.1:") {
		t.Error(err)
	}
}

// A host that is silent, as one whose machine is gone, counts as dead, also while a member is blocked in
// sending to it.
func TestSilentHostHangs(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	silent := joinStream
	silent.Handler = func(_ any, stream grpc.ServerStream) error {
		err := stream.SendHeader(metadata.Pairs(protocolKey, strconv.Itoa(protocol), hangKey, "200ms"))
		<-stream.Context().Done()
		return err
	}
	host := grpc.NewServer()
	host.RegisterService(&grpc.ServiceDesc{
		ServiceName: service.ServiceName, HandlerType: (*any)(nil), Streams: []grpc.StreamDesc{silent},
	}, nil)
	go func() { _ = host.Serve(listener) }() // it ends with Stop
	defer host.Stop()
	m, err := Join(t.Context(), listener.Addr().String(), Hello{Process: job.Process{server}, Job: ours},
		time.Second)
	if err != nil {
		t.Fatal(err)
	}
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		for m.Progress(1, 0, 0) == nil {
		}
	}()
	mustEnd(t, m, "the host at "+listener.Addr().String()+" hangs: it has not answered for 200ms")
	<-sent
}
