package job

import (
	"testing"

	"tandem/algo/numeric/model"
)

// Without TANDEM_DATA, data lie beside the job file that names them.
func TestDataFolder(t *testing.T) {
	for _, test := range []struct{ dataDir, file, want string }{
		{"", "", ""}, {"", "jobs/mine.yaml", "jobs"}, {"/data", "jobs/mine.yaml", "/data"},
		{"/data", "", "/data"},
	} {
		if got := DataFolder(test.dataDir, test.file); got != test.want {
			t.Errorf("TANDEM_DATA %q, file %q: %q, want %q", test.dataDir, test.file, got, test.want)
		}
	}
}

// Processes of one run agree on the settings of the mode; a default is the same whether
// it is written out or not.
func TestFingerprintHasModeSettings(t *testing.T) {
	of := func(training string) string {
		j, err := Parse([]byte(generated+"training: "+training), "job.yaml")
		if err != nil {
			t.Fatal(err)
		}
		digest, err := j.Fingerprint()
		if err != nil {
			t.Fatal(err)
		}
		return string(digest)
	}
	implicit := of("{mode: ssp}")
	if of("{mode: ssp, mode-settings: {slack: 3}}") != implicit ||
		of("{mode: ssp, mode-settings: {slack: 4}}") == implicit {
		t.Error("a fingerprint does not follow the values in use")
	}
}

// What a module costs, which another version of torch counts otherwise, makes no other training of it.
func TestFingerprintHasNoCost(t *testing.T) {
	j := Default()
	j.Model.Spec = model.Spec{Kind: model.Torch, Class: "Net", Source: "class Net: pass\n", EmbeddingDim: 4}
	traced := j
	traced.Model.Traced = &model.Traced{Buckets: []int{8}, Kernels: 9}
	plain, err := j.Fingerprint()
	if err != nil {
		t.Fatal(err)
	}
	if other, err := traced.Fingerprint(); err != nil || string(other) != string(plain) {
		t.Errorf("%v: another fingerprint", err)
	}
	if d, err := traced.DifferenceButRoles(j); err != nil || d != nil {
		t.Errorf("%v: %v", err, d)
	}
}
