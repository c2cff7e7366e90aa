package msg_test

import (
	"slices"
	"strings"
	"testing"

	"tandem/algo/protocol/msg"
)

// kinds lists every kind of message, in the order of a batch's way.
var kinds = []msg.Kind{
	msg.IDFeatures, msg.Samples, msg.SamplesAck, msg.StepDone, msg.GetEmbeddings, msg.Lookup, msg.Rows,
	msg.Embeddings, msg.PutGradients, msg.Put, msg.PutAck, msg.PutDone, msg.ResendIDs,
}

func TestEveryKindHasANameOfItsOwn(t *testing.T) {
	seen := map[string]bool{}
	for i, k := range kinds {
		if int(k) != i {
			t.Errorf("%v is kind %d, listed as %d", k, k, i)
		}
		if name := k.String(); name == "" || seen[name] {
			t.Errorf("kind %d is named %q", k, name)
		} else {
			seen[name] = true
		}
	}
}

// What only asks, answers or acknowledges fits into a header.
func TestPayloads(t *testing.T) {
	without := []msg.Kind{msg.SamplesAck, msg.StepDone, msg.GetEmbeddings, msg.PutAck, msg.PutDone, msg.ResendIDs}
	for _, k := range kinds {
		if got, want := k.HasPayload(), !slices.Contains(without, k); got != want {
			t.Errorf("%v.HasPayload() = %t", k, got)
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
				t.Errorf("(%v).Less(%v) = %t", a, b, a.Less(b))
			}
		}
	}
}

func TestEveryRoleIsParsedByItsName(t *testing.T) {
	for _, r := range msg.Roles() {
		if got, err := msg.ParseRole(r.String()); err != nil || got != r {
			t.Errorf("%v is parsed as %v, error %v", r, got, err)
		}
	}
	if r, err := msg.ParseRole("trainer"); err == nil || !strings.Contains(err.Error(), `unknown role "trainer"; use one of data-loader, `) {
		t.Errorf("a role that does not exist is parsed as %v, error %v", r, err)
	}
}

func TestMessageReadsAsASentence(t *testing.T) {
	m := msg.Message{
		Kind: msg.Lookup, From: msg.Address{Role: msg.EmbeddingWorker}, To: msg.Address{Role: msg.EmbeddingPS, Index: 3},
		Rank: 2, Step: 7,
	}
	if got, want := m.String(), "Lookup rank 2 step 7, embedding-worker 0 → embedding-ps 3"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// What is known has a name, and what a wire may bring otherwise is not known.
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
		t.Error("ResendIDs and NN worker must be known, kind and role 255 not")
	}
}
