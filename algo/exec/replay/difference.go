package replay

import (
	"cmp"
	"fmt"
	"reflect"

	"tandem/algo/protocol/msg"
	"tandem/algo/protocol/role"
)

// Difference is the first difference between a replay and its recording. No earlier difference, in this or
// another stream, can have caused it.
type Difference struct {
	Role     msg.Address
	Step     int32  // that the input is about; -1 if it is about none
	Input    uint64 // number of the input in the role's stream, from 1; 0 at the end
	Of       string // what the input was
	Field    string
	Recorded string
	Replayed string
}

// Error returns one line.
func (d *Difference) Error() string {
	where := d.Role.String()
	if d.Step >= 0 {
		where += fmt.Sprintf(", step %d", d.Step)
	}
	if d.Input > 0 {
		where += fmt.Sprintf(", input %d (%s)", d.Input, d.Of)
	}
	return fmt.Sprintf("%s: %s: recorded %s, replayed %s", where, d.Field, d.Recorded, d.Replayed)
}

// differs makes a disagreement about a role's next step a Difference.
func (p *player) differs(a *actor, d *disagreement) *Difference {
	in := &a.next.Input
	found := &Difference{
		Role: a.state.Address(), Step: -1, Input: a.next.number,
		Field: d.field, Recorded: d.recorded, Replayed: d.replayed,
	}
	switch in.Kind {
	case role.Received:
		found.Step, found.Of = in.Message.Step, fmt.Sprintf("%v from %v", in.Message.Kind, in.Message.From)
	case role.WorkPart, role.WorkDone, role.WorkFailed:
		found.Step, found.Of = in.Work.Step, fmt.Sprint(in.Work.Kind)
	case role.BucketReduced:
		found.Step, found.Of = in.Work.Step, fmt.Sprintf("bucket %d reduced", in.Bucket)
	default:
		found.Of = cmp.Or(map[role.InputKind]string{role.Start: "start", role.TimerFired: "timer",
			role.Stop: "stop", role.Drain: "drain"}[in.Kind], "?")
	}
	return found
}

// outputsDiffer finds the field in which the outputs of a role's step differ.
func (p *player) outputsDiffer(a *actor) error {
	n := 0
	for recorded, err := range a.next.Outputs() {
		if err != nil {
			return p.differs(a, &disagreement{"outputs", err.Error(),
				fmt.Sprintf("%d outputs", len(p.out.List))})
		}
		if n < len(p.out.List) {
			d := compare(fmt.Sprintf("outputs[%d]", n), reflect.ValueOf(recorded),
				reflect.ValueOf(p.out.List[n]))
			if d != nil {
				return p.differs(a, d)
			}
		}
		n++
	}
	// A value has one encoding: if all are equal, there are more of one or the other.
	return p.differs(a, &disagreement{"the length of outputs", fmt.Sprint(n), fmt.Sprint(len(p.out.List))})
}

// stalled names the role whose recording differs from the replay, if roles still wait for an input; nil if no
// role waits. The other roles wait for that role.
func (p *player) stalled() error {
	var found *actor
	var class hope
	sent := p.toCome()
	for _, a := range p.actors {
		if !a.waiting {
			continue
		}
		if h := a.hope(sent); found == nil || h < class || h == class && a.before(found) {
			found, class = a, h
		}
	}
	switch {
	case found == nil:
		return nil
	case class == waits:
		return p.differs(found, &disagreement{"input", "it came",
			"it waits for other roles, and they for it"})
	}
	return p.differs(found, found.missing())
}

// hope is the chance that the input that a role waits for still comes. The other waiting roles wait for a
// role with the least hope.
type hope uint8

const (
	none  hope = iota // no role is to send the message, or it came with another payload and always will
	doubt             // it came with another payload, and is to be sent again
	waits
)

// hope returns the hope of a waiting role; sent has the messages that are still to be sent.
func (a *actor) hope(sent map[msg.Message]bool) hope {
	in := &a.next.Input
	m := in.Message
	came := in.Kind == role.Received && len(a.mail.parcels[m.Rank][m]) > 0
	switch {
	case in.Kind != role.Received:
		return waits
	case !sent[m], came && !readAgain[m.Kind]:
		return none
	case came:
		return doubt
	}
	return waits
}

// readAgain are the kinds of messages whose payload is read again when they are sent again: in between, rows
// or parameters may have changed. Others are sent again as they were.
var readAgain = map[msg.Kind]bool{msg.Rows: true, msg.Embeddings: true, msg.Params: true}

// toCome returns the messages that roles wait for and whose recorded sending has
// not been replayed. It reads the streams to their ends, as far as they go.
func (p *player) toCome() map[msg.Message]bool {
	wanted, found := map[msg.Message]bool{}, map[msg.Message]bool{}
	for _, a := range p.actors {
		if a.waiting {
			wanted[a.next.Input.Message] = true
		}
	}
	if len(wanted) == 0 {
		return nil
	}
	for _, a := range p.actors {
		for s := a.next; s != nil; {
			for o, err := range s.Outputs() {
				if err == nil && o.Kind == role.Send && wanted[o.Message] {
					found[o.Message] = true
				}
			}
			var err error
			if s, err = a.reader.Next(); err != nil {
				break
			}
		}
	}
	return found
}

// missing returns how the message that a role waits for differs from the messages that were sent to it.
func (a *actor) missing() *disagreement {
	m := a.next.Input.Message
	if sent := a.mail.parcels[m.Rank][m]; len(sent) > 0 {
		last := sent[len(sent)-1]
		return &disagreement{"payload", fmt.Sprintf("%016x", a.next.Payload),
			fmt.Sprintf("%016x (fingerprints)", last.print)}
	}
	if like, ok := a.mail.like(m); ok {
		return compare("input.Message", reflect.ValueOf(m), reflect.ValueOf(like))
	}
	return &disagreement{"input.Message", m.String(), "no role sent it"}
}
