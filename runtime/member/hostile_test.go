package member

import (
	"bytes"
	"context"
	"crypto/rand"
	"net"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"tandem/algo/job"
	"tandem/algo/protocol/msg"
	"tandem/runtime/grpcnet"
	"tandem/runtime/member/control"
)

// send sends a message as no member of this package would.
func (r *run) send(m *Member, message *control.FromMember) {
	if err := m.send(message); err != nil {
		r.t.Error(err)
	}
}

// A member that sends an invalid message is dropped, and the reason names what is wrong.
func TestImpossibleMessages(t *testing.T) {
	const before = " was dropped: it sent an invalid control message: "
	record := func(kind uint32, rank, step int32, rows ...int32) *control.FromMember {
		return &control.FromMember{What: &control.FromMember_Records{Records: &control.Records{
			Records: []*control.Record{{Kind: kind, Rank: rank, Step: step, Rows: rows}},
		}}}
	}
	lost := func(kind uint32, index int32) *control.FromMember {
		lost := &control.Lost{Role: &control.Role{Kind: kind, Index: index}}
		return &control.FromMember{What: &control.FromMember_Lost{Lost: lost}}
	}
	for _, c := range []struct {
		at      msg.Address
		message *control.FromMember
		want    string
	}{
		{server, &control.FromMember{},
			"a message of unknown kind: start all roles from one build"},
		{server, &control.FromMember{What: &control.FromMember_Ready{}},
			"it is ready before its welcome, or for the second time"},
		{server, &control.FromMember{What: &control.FromMember_Progress{}},
			"progress of 0 of 7 steps, 0 samples"},
		{trainer,
			&control.FromMember{What: &control.FromMember_Progress{Progress: &control.Progress{Steps: 8}}},
			"progress of 8 of 7 steps, 0 samples"},
		{trainer,
			&control.FromMember{What: &control.FromMember_Progress{Progress: &control.Progress{Steps: -1}}},
			"progress of -1 of 7 steps, 0 samples"},
		{trainer, &control.FromMember{What: &control.FromMember_StepDue{StepDue: &control.StepDue{Step: 7}}},
			"step 7 of 7 is due"},
		{trainer, &control.FromMember{What: &control.FromMember_StepDue{StepDue: &control.StepDue{Step: -1}}},
			"step -1 of 7 is due"},
		{server, &control.FromMember{What: &control.FromMember_Report{}},
			"a report of 0 rows before the last step, or a second one"},
		{server, &control.FromMember{What: &control.FromMember_Values{}},
			"0 values for a request of 0"},
		{trainer, &control.FromMember{What: &control.FromMember_Dense{}},
			"a dense network that was not requested"},
		{trainer, record(0, 1, 0), "a record of kind 0, rank 1, step 0, 0 rows"},
		{trainer, record(0, -2, 0), "a record of kind 0, rank -2, step 0, 0 rows"},
		{trainer, record(0, 0, 8), "a record of kind 0, rank 0, step 8, 0 rows"},
		{trainer, record(256, 0, 0), "a record of kind 256, rank 0, step 0, 0 rows"},
		{trainer, record(0, 0, 0, 1, 1), "a record of kind 0, rank 0, step 0, 2 rows"},
		{trainer, record(2, 0, 0), "a record of kind 2, rank 0, step 0, 0 rows"},
		{trainer, &control.FromMember{What: &control.FromMember_Records{Records: &control.Records{
			Records: []*control.Record{{Role: 1}},
		}}}, "a record of role 1 of 1"},
		{trainer, lost(3, 0), "it has lost role 3, index 0"},
		{trainer, lost(2, 9), "it has lost role 2, index 9"},
		{trainer, lost(1<<20, 0), "it has lost role 1048576, index 0"},
	} {
		r := start(t, nil)
		members := r.all()
		begin(t, members)
		r.send(members[c.at], c.message)
		mustEnd(t, members[c.at], c.at.String()+before+c.want)
		if err := <-r.ended; err == nil || !strings.HasSuffix(err.Error(), before+c.want) ||
			!strings.HasPrefix(err.Error(), c.at.String()) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
}

// lines stores what a host logs.
type lines struct {
	mu  sync.Mutex
	all []string
}

func (l *lines) log(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, line)
}

func (l *lines) count(part string) (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, line := range l.all {
		if strings.Contains(line, part) {
			n++
		}
	}
	return n
}

// stranger opens a stream with the given headers and returns the host's first message that is no heartbeat.
func (r *run) stranger(headers metadata.MD) string {
	conn, err := grpcnet.NewClient(r.address, limits(0))
	if err != nil {
		r.t.Fatal(err)
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(r.t.Context(), 10*time.Second)
	defer cancel()
	stream, err := conn.NewStream(metadata.NewOutgoingContext(ctx, headers), &joinStream, joinName)
	if err != nil {
		return err.Error()
	}
	typed := &grpc.GenericClientStream[control.FromMember, control.ToMember]{ClientStream: stream}
	message, err := typed.Recv()
	if err != nil {
		return err.Error()
	}
	return message.GetAbort().GetReason()
}

// Processes that do not belong to the run are refused, counted, and logged once for each kind of refusal. The
// run goes on, and the host's memory does not grow.
func TestStrangers(t *testing.T) {
	var logged lines
	r := start(t, func(p *Plan) { p.Log = logged.log })
	members := r.all()
	begin(t, members)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for range 20 {
		for _, hello := range [][]string{nil, {""}, {"\xff\xff\xff"}, {"a", "b"}} {
			if got := r.stranger(metadata.MD{helloKey: hello}); !strings.Contains(got,
				"start all roles from one build") {
				t.Errorf("%q is answered with %q", hello, got)
			}
		}
	}
	if got := r.stranger(metadata.Pairs(helloKey, strings.Repeat("x", helloMax))); !strings.Contains(got,
		"header list") {
		t.Errorf("large headers are answered with %q", got)
	}
	r.throwGarbage()
	r.flood()
	runtime.GC()
	runtime.ReadMemStats(&after)
	if grown := int64(after.Sys) - int64(before.Sys); grown > 64<<20 {
		t.Errorf("memory has grown by %d MiB", grown>>20)
	}
	if logged.count("does not say which role it is") != 1 || logged.count("has joined already") != 1 {
		t.Errorf("want each kind of refusal once: %q", logged.all)
	}
	left := make(chan error, 3)
	for at, m := range members {
		go func() { left <- finish(at, m) }()
	}
	if err := <-r.ended; err != nil {
		t.Fatal(err)
	}
	r.host.Close(nil)
	for range members {
		if err := <-left; err != nil {
			t.Error(err)
		}
	}
	if logged.count("times: claim") != 1 {
		t.Errorf("want the number of impostors: %q", logged.all)
	}
}

// throwGarbage writes bytes that are not HTTP/2 on many connections, 1 MiB on each.
func (r *run) throwGarbage() {
	garbage := make([]byte, 1<<20)
	_, _ = rand.Read(garbage) // it never fails
	preface := []byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
	for i := range 100 {
		conn, err := net.Dial("tcp", r.address)
		if err != nil {
			r.t.Fatal(err)
		}
		if i%2 == 0 {
			_, err = conn.Write(preface)
		}
		if err == nil {
			_, _ = bytes.NewReader(garbage[i:]).WriteTo(conn) // the host may close it
		}
		defer conn.Close()
	}
}

// flood has many impostors at a time claim the role of a member.
func (r *run) flood() {
	var all sync.WaitGroup
	for range 200 {
		all.Go(func() {
			m, err := Join(r.t.Context(), r.address,
				Hello{Process: job.Process{server}, Address: ":1", Job: ours}, 10*time.Second)
			if err != nil {
				return // one of too many connections
			}
			if _, err = m.Welcome(); err == nil {
				r.t.Error("an impostor is welcome")
			}
			_ = m.Leave(err)
		})
	}
	all.Wait()
}
