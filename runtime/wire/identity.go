package wire

import (
	"encoding/hex"
	"fmt"
)

// RunID identifies one run. The host of the run draws it at random and gives it to the members only, so that
// processes of different runs never accept each other's frames.
type RunID [16]byte

// String returns the id in hexadecimal.
func (r RunID) String() string { return hex.EncodeToString(r[:]) }

// Identity identifies the process that sent a frame.
type Identity struct {
	Run RunID
	// Incarnation is the number of times that the process was restarted: 0 for the first one.
	Incarnation uint32
	// View is the number of changes of membership of which the sender knew.
	View uint32
}

// Fence is what a receiver knows of a sender: the run, the incarnation that may send, and the view in which
// this incarnation joined.
type Fence Identity

// Check returns nil if a frame with an identity may pass. Otherwise it returns a *Refusal with reason
// OtherRun, or Stale for an earlier incarnation or a view before the fence, or Unannounced for a later
// incarnation.
func (f *Fence) Check(id *Identity) error {
	switch {
	case id.Run != f.Run:
		return Refusef(OtherRun, "run: it belongs to run %v, this is run %v", id.Run, f.Run)
	case id.Incarnation < f.Incarnation:
		return Refusef(Stale, "incarnation: %d was replaced by %d", id.Incarnation, f.Incarnation)
	case id.Incarnation > f.Incarnation:
		return Refusef(Unannounced, "incarnation: %d, but the host has announced %d", id.Incarnation,
			f.Incarnation)
	case id.View < f.View:
		return Refusef(Stale, "view: %d, before view %d in which incarnation %d joined", id.View, f.View,
			f.Incarnation)
	}
	return nil
}

// Reason is the kind of a refusal. Refusals are counted by it.
type Reason string

// The reasons for refusing something from another process.
const (
	Malformed    Reason = "malformed"    // bytes that are not a frame
	OtherRun     Reason = "other run"    // a frame or stream of another run
	Stale        Reason = "stale"        // something of an incarnation that was replaced
	Unannounced  Reason = "unannounced"  // something of an incarnation that the host has not announced
	Forged       Reason = "forged"       // a sender or receiver that the stream does not belong to
	Introduced   Reason = "introduction" // a stream without a valid introduction
	Claimed      Reason = "claimed"      // a role of a process that is alive
	Inadmissible Reason = "inadmissible" // a message or payload that the configuration rules out
	Flood        Reason = "flood"        // more messages than the credit of the edge allows
)

// Refusal is the error for something that was refused.
type Refusal struct {
	Reason Reason
	Err    error
}

// Refusef returns a Refusal whose error is formatted as by fmt.Errorf.
func Refusef(reason Reason, format string, args ...any) *Refusal {
	return &Refusal{reason, fmt.Errorf(format, args...)}
}

// Error implements error.
func (r *Refusal) Error() string { return string(r.Reason) + ": " + r.Err.Error() }

// Unwrap returns the error without its reason.
func (r *Refusal) Unwrap() error { return r.Err }
