package inference_test

import (
	"slices"
	"strings"
	"testing"

	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/runtime/checkpoint"
)

// The embedding of an id is its row or, in a hash-stack, the sum of its rows; an id that was never trained
// has zeros.
func TestEmbeddingsOfIDs(t *testing.T) {
	m, path := trained(t, func(j *job.Job) {
		j.Data.Slots = []job.SlotSetting{{Slot: "user", HashStack: batch.HashStack{Rounds: 3, Rows: 50}}}
	})
	defer m.Close()
	c, err := checkpoint.Open(m.Folder())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	saved, err := c.Rows()
	if err != nil {
		t.Fatal(err)
	}
	schema, err := c.Schema.Batch()
	if err != nil {
		t.Fatal(err)
	}
	rows := read(t, m, path)
	const unknown = 1 << 40
	for at, slot := range []string{"user", "tags"} {
		ids := append([]uint64{unknown}, rows.Slots[at].IDs[:5]...)
		got, err := m.Embeddings(slot, ids)
		if err != nil || len(got) != 4*len(ids) {
			t.Fatalf("%s: %d values, error %v", slot, len(got), err)
		}
		for i, id := range ids {
			signs := schema.Signer(at).AppendSigns(nil, []uint64{id})
			values, want := make([]float32, 4*len(signs)), make([]float32, 4)
			if _, err := saved.Read(signs, values); err != nil {
				t.Fatal(err)
			}
			for k, v := range values {
				want[k%4] += v
			}
			own := got[4*i:][:4]
			if !slices.Equal(own, want) || len(signs) != []int{3, 1}[at] ||
				slices.Max(own) == 0 && (id != unknown || at == 0) {
				t.Errorf("%s %d has the embedding %v, want %v, the sum of %d rows", slot, id, own, want,
					len(signs))
			}
		}
	}
	if _, err := m.Embeddings("nothing", nil); err == nil || !strings.HasSuffix(err.Error(),
		": no slot nothing") {
		t.Error(err)
	}
}

// A model says what it is: its labels, its steps, the checksum of its files, and when it was written.
func TestWhatAModelSays(t *testing.T) {
	m, _ := trained(t, func(*job.Job) {})
	defer m.Close()
	c, err := checkpoint.Open(m.Folder())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if len(m.Labels()) != 2 || m.Steps() != c.Step || m.Steps() == 0 || m.Checksum() != c.SHA256 ||
		len(m.Checksum()) != 64 || !m.Written().Equal(c.Written) || m.Wide() != nil {
		t.Errorf("labels %q, %d steps, checksum %s, written %v, wide %q", m.Labels(), m.Steps(), m.Checksum(),
			m.Written(), m.Wide())
	}
	next, err := m.OpenNext(m.Folder())
	if err != nil {
		t.Fatal(err)
	}
	defer next.Close()
	if rows, changes := next.ChangedRows(); rows != 0 || !changes || m.CheckTraining(next) != nil {
		t.Errorf("of the same model, %d rows have changed, changes alone: %t", rows, changes)
	}
	other, _ := trained(t, func(j *job.Job) { j.Training.Seed++ })
	defer other.Close()
	if m.CheckTraining(other) == nil {
		t.Error("a model of another training is taken for one of the same")
	}
}
