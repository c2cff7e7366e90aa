package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What cannot be answered is one line that says what and where, with a hint, before anything is simulated.
func TestBadInputIsOneLine(t *testing.T) {
	folder := t.TempDir()
	exists := filepath.Join(folder, "trace")
	if err := os.Mkdir(exists, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ args, want string }{
		{"plan --presets dgx-h10", `--presets: "dgx-h10" is unknown; the nearest is "dgx-h100"`},
		{"plan --accelerators H10", `the nearest is "H100-PCIe"`},
		{"plan --model crito", `the nearest is "criteo"`},
		{"plan --modes hybird", `the nearest is "hybrid"`},
		{"plan --train six", `invalid argument "six" for "--train" flag: want a number`},
		{"plan --train 1e999", `for "--train" flag: it is out of range`},
		{"plan --within 6parsec", `unknown unit "parsec"`},
		{"plan --presets=", "need at least one value"},
		{"plan --modes=", "--modes: want at least one"},
		{"plan --most-gpus 1000000", "--most-gpus: 1000000; want 1 to 4096"},
		{"plan --presets zionex-128", "no price is known of server (zionex)"},
		{"plan --file nowhere.yaml", "nowhere.yaml: no such file"},
		{"sweep --over gpu=1,2", `the nearest is "gpus"`},
		{"sweep --over embedding-ps.coun=1..4", `the nearest is "embedding-ps.count"`},
		{"sweep --over gpus=", `"gpus=": want NAME=VALUES`},
		{"sweep --over gpus=8..1", "8..1 is empty"},
		{"sweep --over network=25,100parsec", "network=25parsec"},
		{"run --gpus 20000", "20000 GPUs; want 1 to 16384"},
		{"run --preset dgx-h100 --gpus 16 --global-batch 8", "8 samples on 16 GPUs; want at least one each"},
		{"run --preset dgx-h100 --gpus 10000000", "want 1 to 65536"},
		{"trace --gpus 2 " + exists, exists + " exists"},
		{"run --set network.latency=3GB", `unknown unit "GB"`},
		{"run --set accelerator.memory=3us", `unknown unit "us"`},
		{"run --network 5", `"5"; want a rate above 0`},
		{"goodput --mtbf embedding-ps=4GB", `unknown unit "GB"`},
	} {
		text := refusal(t, strings.Fields(test.args)...)
		var errors, others []string
		for line := range strings.Lines(text) {
			switch line = strings.TrimSpace(line); {
			case strings.HasPrefix(line, "sim: error: "):
				errors = append(errors, line)
			case !strings.HasPrefix(line, "sim: "):
				others = append(others, line)
			}
		}
		if len(errors) != 1 || len(others) > 0 || !strings.Contains(errors[0], test.want) ||
			!strings.Contains(text, "\nsim: hint: ") {
			t.Errorf("sim %s: want %q in one line and a hint; got\n%s", test.args, test.want, text)
		}
	}
}
