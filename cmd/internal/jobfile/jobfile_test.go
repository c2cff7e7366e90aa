package jobfile

import "testing"

// Without TANDEM_DATA, data lie beside the job file that names them.
func TestDataFolder(t *testing.T) {
	for _, test := range []struct{ dataDir, file, want string }{
		{"", "", ""}, {"", "jobs/mine.yaml", "jobs"}, {"/data", "jobs/mine.yaml", "/data"}, {"/data", "", "/data"},
	} {
		if got := DataFolder(test.dataDir, test.file); got != test.want {
			t.Errorf("TANDEM_DATA %q, file %q: %q, want %q", test.dataDir, test.file, got, test.want)
		}
	}
}
