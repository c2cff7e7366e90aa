package fault_test

import (
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"tandem/algo/protocol/fault"
	"tandem/algo/protocol/msg"
	"tandem/algo/protocol/pace"
	"tandem/algo/protocol/role"
)

// An item about one instance takes precedence, wherever it stands.
func TestFactorOfASlowRole(t *testing.T) {
	for _, text := range []string{"nn-worker=2,nn-worker/1=1.5", "nn-worker/1=1.5,nn-worker=2"} {
		s, err := fault.ParseSlow(text)
		if err != nil {
			t.Fatal(err)
		}
		for at, want := range map[msg.Address]float64{{Role: msg.NNWorker}: 2,
			{Role: msg.NNWorker, Index: 1}: 1.5, {Role: msg.EmbeddingPS, Index: 1}: 1} {
			if got := s.Factor(at); got != want {
				t.Errorf("%s: %v takes %v times as long, want %v", text, at, got, want)
			}
		}
		if !s.Differ(msg.NNWorker) || s.Differ(msg.EmbeddingPS) {
			t.Errorf("%s: only NN workers differ", text)
		}
	}
	if s, _ := fault.ParseSlow("nn-worker=2"); s.Differ(msg.NNWorker) {
		t.Error("all NN workers are slow alike")
	}
}

func TestSlowRolesAreWrittenAsTheyAreRead(t *testing.T) {
	for _, text := range []string{"none", "nn-worker/1=1.5,embedding-ps=2", "data-loader/0=1,dense-ps=1000"} {
		s, err := fault.ParseSlow(text)
		if err != nil || s.String() != text {
			t.Errorf("%s is read as %s, error %v", text, s, err)
		}
		written, err := yaml.Marshal(s)
		var again fault.Slows
		if err == nil {
			err = yaml.Unmarshal(written, &again)
		}
		if err != nil || again.String() != text {
			t.Errorf("%s is written as\n%sand read as %s, error %v", text, written, again, err)
		}
	}
}

func TestSlowErrorsNameTheKeyAndThePossibleValues(t *testing.T) {
	for text, want := range map[string]string{
		"nn-worker":                   `"nn-worker" is not ROLE/INDEX=FACTOR; write slow roles as nn-`,
		"gpu=2":                       `unknown role "gpu"; use one of data-loader`,
		"nn-worker/x=2":               `"nn-worker/x" is not an instance of nn-worker; write nn-worker/0`,
		"nn-worker/-1=2":              `"nn-worker/-1" is not an instance of nn-worker; write nn-worker/0`,
		"nn-worker=fast":              `nn-worker=fast: "fast" is not a factor, such as 1.5`,
		"nn-worker=0.5":               "slow[0].factor = 0.5; want 1 to 1000",
		"nn-worker=NaN":               "slow[0].factor = NaN; want 1 to 1000",
		"nn-worker=1001":              "slow[0].factor = 1001; want 1 to 1000",
		"nn-worker=2,coordinator=2":   "slow[1].role = coordinator: a coordinator has no work",
		"nn-worker/1=2,nn-worker/1=3": "slow[1].role = nn-worker/1 is there twice; give it one factor",
		strings.Repeat("nn-worker=2,", 1000) + "nn-worker=2": "slow: 1001 items; want at most 1000",
	} {
		if _, err := fault.ParseSlow(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40s: error %v, want %q", text, err, want)
		}
	}
	cfg := &role.Config{Ranks: 2, EmbeddingWorkers: 1, EmbeddingPSs: 1, Rule: pace.Sync{}}
	for text, want := range map[string]string{
		"dense-ps=2":                "slow[0].role = dense-ps: the mode has no such role",
		"nn-worker=2,nn-worker/2=2": "slow[1].role = nn-worker/2; the job has 2 of nn-worker, counted from 0",
		"nn-worker/1=2":             "",
	} {
		s, err := fault.ParseSlow(text)
		if err != nil {
			t.Fatal(err)
		}
		err = s.ValidateRoles(cfg)
		if want == "" && err != nil || want != "" && (err == nil || err.Error() != want) {
			t.Errorf("%s: error %v, want %q", text, err, want)
		}
	}
}
