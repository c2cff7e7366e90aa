package msg_test

import (
	"slices"
	"strings"
	"testing"

	"tandem/algo/protocol/msg"
)

// kinds lists the kinds of message that every mode uses, in the order of their constants.
var kinds = []msg.Kind{
	msg.IDFeatures, msg.Samples, msg.SamplesAck, msg.StepDone, msg.GetEmbeddings, msg.Lookup, msg.Rows,
	msg.Embeddings, msg.PutGradients, msg.Put, msg.PutAck, msg.PutDone, msg.ResendIDs,
}

func TestKindNamesAreUnique(t *testing.T) {
	seen := map[string]bool{}
	for i, k := range kinds {
		if int(k) != i {
			t.Errorf("%v = %d, want %d", k, k, i)
		}
		if name := k.String(); name == "" || seen[name] {
			t.Errorf("kind %d has the name %q, which is empty or taken", k, name)
		} else {
			seen[name] = true
		}
	}
}

// Requests without data, and acknowledgements, fit into a header.
func TestHasPayload(t *testing.T) {
	without := []msg.Kind{msg.SamplesAck, msg.StepDone, msg.GetEmbeddings, msg.PutAck, msg.PutDone,
		msg.ResendIDs}
	for _, k := range kinds {
		if got, want := k.HasPayload(), !slices.Contains(without, k); got != want {
			t.Errorf("%v.HasPayload() = %t, want %t", k, got, want)
		}
	}
}

func TestAddressesAreOrderedByRoleThenIndex(t *testing.T) {
	ordered := []msg.Address{
		{Role: msg.DataLoader}, {Role: msg.EmbeddingWorker, Index: 1}, {Role: msg.EmbeddingWorker, Index: 2},
		{Role: msg.EmbeddingPS}, {Role: msg.NNWorker}, {Role: msg.NNWorker, Index: 7},
	}
	for i, a := range ordered {
		for j, b := range ordered {
			if a.Less(b) != (i < j) {
				t.Errorf("(%v).Less(%v) = %t, want %t", a, b, a.Less(b), i < j)
			}
		}
	}
}

func TestParseRoleReadsEveryName(t *testing.T) {
	for _, r := range msg.Roles() {
		if got, err := msg.ParseRole(r.String()); err != nil || got != r {
			t.Errorf("ParseRole(%q) = %v, error %v; want %v", r.String(), got, err, r)
		}
	}
	if r, err := msg.ParseRole("trainer"); err == nil ||
		!strings.Contains(err.Error(), `unknown role "trainer"; use one of data-loader, `) {
		t.Errorf("ParseRole(\"trainer\") = %v, error %v; want an error that lists the names", r, err)
	}
}

func TestMessageString(t *testing.T) {
	m := msg.Message{
		Kind: msg.Lookup, From: msg.Address{Role: msg.EmbeddingWorker},
		To:   msg.Address{Role: msg.EmbeddingPS, Index: 3},
		Rank: 2, Step: 7,
	}
	if got, want := m.String(), "Lookup rank 2 step 7, embedding-worker 0 → embedding-ps 3"; got != want {
		t.Errorf("String() = %q, want %q", got, want)
	}
}

// Every known kind and role has a name, and values out of range are not known.
func TestKnown(t *testing.T) {
	for k := msg.Kind(0); k.Known(); k++ {
		if k.String() == "" {
			t.Errorf("kind %d has no name", k)
		}
	}
	for r := msg.Role(0); r.Known(); r++ {
		if r.String() == "" {
			t.Errorf("role %d has no name", r)
		}
	}
	if !msg.ResendIDs.Known() || msg.Kind(255).Known() || !msg.NNWorker.Known() || msg.Role(255).Known() {
		t.Error("want ResendIDs and NNWorker known, kind 255 and role 255 unknown")
	}
}
