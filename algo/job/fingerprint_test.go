package job

import "testing"

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
