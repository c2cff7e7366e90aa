package process

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"tandem/algo/exec"
	"tandem/algo/job"
	"tandem/algo/protocol/msg"
	"tandem/algo/unit"
	"tandem/runtime/member"
	"tandem/runtime/train"
	"tandem/runtime/transport"
)

// traitor is the embedding worker whose first incarnations are hostile.
var traitor = msg.Address{Role: msg.EmbeddingWorker, Index: 1}

// treason is a message that violates the protocol, and the reason with which its receiver refuses it.
type treason struct {
	message msg.Message
	want    string
}

var (
	itsLoader = msg.Address{Role: msg.DataLoader}
	itsPS     = msg.Address{Role: msg.EmbeddingPS, Index: 1}
	itsRank   = msg.Address{Role: msg.NNWorker, Index: 2}
)

// treasons are for a run of 4 ranks and 2 embedding workers, in which the traitor has the
// odd batches of a rank and a step: those of odd ranks.
var treasons = []treason{
	{msg.Message{Kind: msg.PutDone, To: itsRank, Rank: 1 << 20}, "rank: 1048576, want 0 to 3"},
	{msg.Message{Kind: msg.Put, To: itsPS, Rank: 1, Step: 3, Floor: 1 << 30}, "floor: 1073741824"},
	{msg.Message{Kind: msg.PutGradients, To: itsPS, Rank: 1},
		"kind: such messages go from nn-worker to embedding-worker"},
	{msg.Message{Kind: msg.ResendIDs, To: itsLoader, Rank: 1, Step: -1}, "step: -1, want 0 to "},
	{msg.Message{Kind: msg.Lookup, To: itsPS, Rank: -1}, "rank: -1, want 0 to 3"},
	{msg.Message{Kind: msg.Lookup, From: msg.Address{Role: msg.EmbeddingWorker}, To: itsPS, Rank: 0},
		"from: the stream belongs to embedding-worker 1"},
	{msg.Message{Kind: msg.ResendIDs, To: itsLoader, Rank: 0, Step: 0},
		"from: batch of rank 0 and step 0 belongs to embedding-worker 0"},
	{msg.Message{Kind: msg.PutDone, To: itsRank, Rank: 1}, "to: the message is about rank 1"},
	{msg.Message{Kind: msg.Embeddings, To: itsRank, Rank: 2, Step: 1 << 30}, "step: 1073741824, want 0 to "},
}

// betray is a process of the traitor: it joins correctly, sends the n-th treason and waits until it is
// dropped.
func betray(n int, host string) error {
	data, err := transport.Listen("127.0.0.1:0", transport.Options{
		Roles: []msg.Address{traitor}, Job: hex.EncodeToString([]byte("role")), Handler: deaf{},
		Restartable: func(msg.Address) bool { return true },
	})
	if err != nil {
		return err
	}
	defer data.Abort()
	m, err := member.Join(context.Background(), host,
		member.Hello{Process: job.Process{traitor}, Address: data.Address(),
			Job: []byte("role")}, 5*time.Second)
	if err != nil {
		return err
	}
	w, err := m.Welcome()
	if err != nil {
		return m.Leave(err)
	}
	near := map[msg.Address]string{}
	for _, peer := range w.Peers {
		if at := peer.Process[0]; at.Role != msg.EmbeddingWorker {
			near[at] = peer.Address
		}
	}
	ctx, cancel := context.WithTimeout(m.Context(), 5*time.Second)
	defer cancel()
	if err := errors.Join(data.Begin(w.Run, w.Incarnation, w.View), data.Connect(ctx, near)); err != nil {
		return m.Leave(err)
	}
	if _, _, err := m.Ready(nil); err != nil {
		return m.Leave(err)
	}
	forged := treasons[n].message
	forged.Bytes = msg.HeaderBytes
	if forged.From == (msg.Address{}) {
		forged.From = traitor
	}
	if err := data.SendAll([]exec.Letter{{Message: forged}}); err != nil {
		return m.Leave(err)
	}
	<-m.Context().Done()
	return m.Leave(context.Cause(m.Context()))
}

// deaf is a transport.Handler that ignores everything.
type deaf struct{}

func (deaf) Deliver(msg.Message, exec.Payload, func()) {}
func (deaf) Lost(string, error)                        {}
func (deaf) Dropped(string, []msg.Address, error)      {}

// A member that sends invalid messages is dropped by its peers, with a reason, and comes back as its next
// incarnation. When an incarnation follows the protocol, the run completes with the bits of sequential
// training.
func TestTraitorsAreDropped(t *testing.T) {
	hostile := treasons[:3]
	if *long {
		hostile = treasons
	}
	var logged log
	s := setting{Training: small(job.Sync), Steps: 30, stderr: &logged}
	s.Training.Wire.Retry = 100 * unit.Millisecond
	started := 0
	var puts outcomes
	got, err := s.run(t.Context(), train.Options{Observer: &puts}, func(c *Cluster) {
		c.options.Deaths = len(hostile)
		c.options.Command = func(s Start) []string {
			if s.Process[0] != traitor || started == len(hostile) {
				return command("role", s)
			}
			started++
			return command(fmt.Sprint("treason ", started-1), s)
		}
	})
	if err != nil {
		t.Fatal(err, logged.String())
	}
	s.mustEqualSequential(t, got)
	puts.mustBeOne(t)
	for _, treason := range hostile {
		if !strings.Contains(logged.String(), treason.want) {
			t.Errorf("no line says %q: %s", treason.want, logged.String())
		}
	}
}
