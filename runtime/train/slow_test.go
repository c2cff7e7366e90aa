package train

import (
	"testing"

	"tandem/algo/job"
	"tandem/algo/protocol/fault"
)

// Slow roles change when things happen, and no bit of sync.
func TestSlowRolesDoNotChangeTheBits(t *testing.T) {
	r := newRows(64*6, 64, 4, 1)
	want := mustRun(t, small(job.Sequential, 1), r)
	slow, err := fault.ParseSlow("nn-worker/1=3,embedding-worker=2,embedding-ps/0=4,data-loader=2")
	if err != nil {
		t.Fatal(err)
	}
	j := small(job.Sync, 4)
	j.Slow = slow
	got := mustRun(t, j, r)
	if got.DenseDigest != want.DenseDigest || got.RowsDigest != want.RowsDigest {
		t.Errorf("%s: not the bits of sequential training", slow)
	}
}
