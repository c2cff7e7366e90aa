package member

import (
	"encoding/binary"
	"encoding/json"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/algo/protocol/pace"
	"tandem/algo/protocol/role"
	"tandem/runtime/driver"
	"tandem/runtime/member/control"
)

// sink is the stream of a member that reads nothing.
type sink struct{}

func (sink) Send(*control.ToMember) error { return nil }

// FuzzHost sends a host any messages of any members during training. The host must not panic. It must keep a
// member for every role that cannot restart, or end the run with a reason.
func FuzzHost(f *testing.F) {
	add := func(messages ...*control.FromMember) {
		var data []byte
		for i, m := range messages {
			text, err := proto.Marshal(m)
			if err != nil {
				f.Fatal(err)
			}
			data = append(data, byte(i))
			data = binary.LittleEndian.AppendUint16(data, uint16(len(text)))
			data = append(data, text...)
		}
		f.Add(data)
	}
	add(&control.FromMember{What: &control.FromMember_Ready{}},
		&control.FromMember{What: &control.FromMember_Finished{}},
		&control.FromMember{What: &control.FromMember_Report{Report: &control.Report{Rows: 3,
			Missed: []byte{1, 2}}}})
	records := &control.Records{Records: []*control.Record{{Kind: 2, Rows: []int32{1}}}}
	add(&control.FromMember{What: &control.FromMember_Records{Records: records}},
		&control.FromMember{What: &control.FromMember_Lost{Lost: &control.Lost{Role: toRole(loader)}}},
		&control.FromMember{What: &control.FromMember_StepDue{StepDue: &control.StepDue{Step: 3}}})
	f.Fuzz(func(t *testing.T, data []byte) {
		h, err := newHost(Plan{Processes: []job.Process{{loader}, {server}, {trainer}}, Ranks: 1, Steps: 7,
			DeathsMax: 2, ReturnLimit: time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		defer close(h.over)
		h.callbacks = Callbacks{Callbacks: driver.Callbacks{Progress: func(int) {},
			Loss: func(float64, int) {}, BeforeStep: func(int) error { return nil },
			Observe: pace.NewMeter(1, 1).Observe}}
		var members []*member
		for _, s := range h.processes {
			m := newMember(s, "x:1")
			m.stream = sink{}
			if why := h.assign(m); why != nil {
				t.Fatal(why)
			}
			members = append(members, m)
		}
		h.phase = connecting
		for _, m := range members {
			h.ready(m.process)
		}
		h.phase = training
		for len(data) >= 3 {
			m, size := members[int(data[0])%len(members)], int(binary.LittleEndian.Uint16(data[1:]))
			data = data[3:]
			size = min(size, len(data))
			var message control.FromMember
			if proto.Unmarshal(data[:size], &message) == nil {
				err = h.handle(m, &message)
			}
			data = data[size:]
			if err != nil {
				return
			}
			for _, s := range h.processes {
				if s.member == nil && !role.CanRestart(s.roles[0].Role) {
					t.Fatalf("%v is gone, and the run goes on", s.roles)
				}
			}
			if m.process.roles.Has(rank0) && m.finished {
				h.phase = stopped
			}
		}
		h.merger.merge(true)
	})
}

// FuzzWelcome sends a process any welcome of a host: it is an error, or has roles, a run and a valid schema.
func FuzzWelcome(f *testing.F) {
	schema, err := json.Marshal(batch.Schema{Slots: []batch.Slot{{Name: "a", Dim: 2}}, Labels: []string{"y"},
		PrefixBits: 8})
	if err != nil {
		f.Fatal(err)
	}
	good := &control.Welcome{Run: make([]byte, 16), Schema: schema, Steps: 9, Hot: []uint64{1, 2},
		Roles: []*control.Role{toRole(trainer)},
		Peers: []*control.Peer{{Roles: []*control.Role{toRole(server)}, Address: "x:1"}}}
	for _, change := range []func(){func() {}, func() { good.Peers = append(good.Peers, nil) },
		func() { good.Schema = []byte("{}") }, func() { good.Hot = append(good.Hot, 1) }} {
		change()
		text, err := proto.Marshal(good)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var message control.Welcome
		if proto.Unmarshal(text, &message) != nil {
			return
		}
		w, err := toWelcome(&message)
		if err != nil {
			return
		}
		if err := w.Schema.Validate(); err != nil || len(w.Roles) == 0 {
			t.Errorf("roles %v, schema %+v: %v", w.Roles, w.Schema, err)
		}
	})
}
