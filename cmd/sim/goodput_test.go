package main

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"tandem/algo/unit"
	"tandem/runtime/member"
)

// goodputOf runs "sim goodput" with --json.
func goodputOf(t *testing.T, args string) *goodputDocument {
	t.Helper()
	out, said, code := goodputText(args + " --json")
	var d goodputDocument
	if code != 0 {
		t.Fatalf("sim goodput %s: exit %d: %s", args, code, said)
	}
	if err := json.Unmarshal([]byte(out), &d); err != nil {
		t.Fatal(err)
	}
	return &d
}

func goodputText(args string) (out, said string, code int) {
	var stdout, stderr bytes.Buffer
	code = run(append([]string{"goodput"}, strings.Fields(args)...), &stdout, &stderr)
	return stdout.String(), stderr.String(), code
}

// The times of a checkpoint follow from its bytes, and the useful time and the causes are all the time. The
// best interval loses less than one that is far from it, and Young's formula comes close.
func TestGoodputOfACluster(t *testing.T) {
	const args = "--samples 1 --gpus 8 --mtbf nn-worker=20h,data-loader=50h --disk 10MB/s --trainings 50 "
	d := goodputOf(t, args)
	lost := d.Lost
	sum := d.Share + lost.Saving + lost.Again + lost.Notice + lost.Restart + lost.Replay
	if math.Abs(sum-1) > 1e-9 || lost.Replay != 0 || min(lost.Saving, lost.Again, lost.Notice,
		lost.Restart) <= 0 {
		t.Errorf("%.4f useful, lost %+v", d.Share, lost)
	}
	if math.Abs(d.Goodput/(d.Share*d.Throughput)-1) > 1e-9 || d.ShareInterval[0] > d.Share ||
		d.ShareInterval[1] < d.Share {
		t.Errorf("goodput %v of %v: %v, %v", d.Goodput, d.Throughput, d.Share, d.ShareInterval)
	}
	// 50 hosts with 1.8 million rows of 16 values and a sum of squares, in fp16, at 10 MB/s
	if d.Bytes == nil || math.Abs(d.Read-float64(*d.Bytes)/50/10e6) > 0.02*d.Read ||
		d.Write != d.Read || d.Pause <= 0 || d.Pause > d.Write/10 {
		t.Errorf("%v bytes, a pause of %v s, %v s to write, %v s to read", *d.Bytes, d.Pause, d.Write, d.Read)
	}
	far := goodputOf(t, args+"--checkpoint-every 2h")
	if far.Share > d.Best.Share-0.05 || *far.Every != 7200 || *d.Every != d.Best.Every {
		t.Errorf("every 2 h %.4f useful, at best %.4f", far.Share, d.Best.Share)
	}
	if d.Best.Young.Share < d.Best.Share-0.005 || d.Best.Flat[0] >= d.Best.Every {
		t.Errorf("%+v", d.Best)
	}
}

// A redo log helps where PSs die; without checkpoints a training hardly ends; preemption is one more failure.
func TestGoodputOfPolicies(t *testing.T) {
	const args = "--samples 1 --gpus 8 --trainings 20 --length 10h --checkpoint-every 10min " +
		"--mtbf embedding-ps=100h "
	plain, log := goodputOf(t, args), goodputOf(t, args+"--recover log")
	if log.Share <= plain.Share || log.Lost.Replay <= 0 || log.Lost.Again >= plain.Lost.Again/5 {
		t.Errorf("%.4f useful with a log, %.4f without; lost %+v and %+v", log.Share, plain.Share, log.Lost,
			plain.Lost)
	}
	none := goodputOf(t, "--samples 1 --gpus 8 --trainings 20 --length 10h --mtbf embedding-ps=100h "+
		"--recover none")
	if none.Share > plain.Share/2 || none.Every != nil || none.Best != nil || none.Lost.Saving != 0 {
		t.Errorf("%.4f useful without checkpoints: %+v", none.Share, none)
	}
	spot := goodputOf(t, args+"--preempted-every 5h")
	if spot.Share >= plain.Share || len(spot.Failures) != 2 || spot.Failures[1].Name !=
		"GPU server preempted" {
		t.Errorf("%.4f useful on spot machines: %+v", spot.Share, spot.Failures)
	}
	ranks := goodputOf(t, args+"--mtbf nn-worker=50h --recover log,ranks")
	alone := goodputOf(t, args+"--mtbf nn-worker=50h --recover log")
	if ranks.Share <= alone.Share || ranks.Lost.Again >= alone.Lost.Again/5 || ranks.Policy != "log,ranks" {
		t.Errorf("%.4f useful where ranks copy others, %.4f where all go back", ranks.Share, alone.Share)
	}
	given := goodputOf(t, args+"--pause 1s --write 7s --read 3s --replay 0.5")
	if given.Pause != 1 || given.Write != 7 || given.Read != 3 || given.Bytes != nil {
		t.Errorf("%+v", given)
	}
	graph := goodputOf(t, "--preset dgx-h100 --samples 1 --gpus 16 --trainings 4 --length 10h")
	if graph.Pause != graph.Read || graph.Write != 0 {
		t.Errorf("with tables on accelerators: %+v", graph)
	}
}

// The rows of a job file are counted, so its checkpoints have a size, too.
func TestGoodputOfAJobFile(t *testing.T) {
	const args = "--file ../train/jobs/criteo-shaped.yaml --samples 1 --trainings 5 --length 1h " +
		"--mtbf node=1000h,embedding-ps=10h --recover log"
	d := goodputOf(t, args)
	if d.Bytes == nil || *d.Bytes < 100_000 || d.Share <= 0.5 || d.Share >= 1 || d.Lost.Replay <= 0 {
		t.Errorf("%+v", d)
	}
}

// The report, of roles and of step graphs, has at most 80 columns, but for the command. The same seed has the
// same report.
func TestGoodputReport(t *testing.T) {
	for _, args := range []string{
		"--samples 2 --gpus 8 --mtbf nn-worker=200h,node=1000h --dollars-per-gpu-hour 2 --trainings 20",
		"--samples 2 --gpus 8 --recover log --mtbf embedding-ps=1000h --trainings 20",
		"--samples 2 --gpus 8 --recover none --trainings 20 --length 9000h",
		"--samples 2 --gpus 8 --mtbf nn-worker=1s --trainings 20",
		"--preset dgx-h100 --samples 2 --gpus 16 --trainings 20 --preempted-every 6h --checkpoint-every 9min",
	} {
		out, said, code := goodputText(args)
		if code != 0 {
			t.Fatalf("%s: exit %d: %s", args, code, said)
		}
		checkColumns(t, args, out)
		if again, _, _ := goodputText(args); again != out {
			t.Errorf("%s: not the same again:\n%s\n%s", args, out, again)
		}
	}
}

// Trainings that do not end have the remedies that they can have.
func TestGoodputRemedies(t *testing.T) {
	const args = "--samples 1 --length 1h --trainings 4 --mtbf nn-worker=1s "
	for more, want := range map[string]string{
		"":                  "shorter restarts, or --recover log would",
		"--recover none":    "--recover checkpoint",
		"--recover log":     "machines, or shorter restarts,",
		"--preset dgx-h100": "faster disks (--disk), more hosts or fewer failures would help, and no policy",
		"--preset dgx-h100 --read 1ms --write 1ms": "machines, or shorter restarts,",
	} {
		out, said, code := goodputText(args + more)
		if code != 0 || !strings.Contains(strings.ReplaceAll(out, "\n", " "), want) {
			t.Errorf("sim goodput %s: exit %d: %s%s; want %q", args+more, code, out, said, want)
		}
	}
}

// Times in the report have three digits, and the whole of large numbers.
func TestSpan(t *testing.T) {
	for in, want := range map[unit.Tick]string{
		0: "0ms", 93*unit.Millisecond + 77: "93ms",
		12_340 * unit.Millisecond: "12.3s", 99 * unit.Second: "99s", 100 * unit.Second: "1.67min",
		100 * unit.Minute: "1.67h", 100 * unit.Hour: "100h", 50_000 * unit.Hour: "50000h",
		unit.Forever: "never",
	} {
		if got := span(in); got != want {
			t.Errorf("%v: %s, want %s", in, got, want)
		}
	}
}

// What no training can have is refused, with a hint; an interval longer than failures are apart has a note.
func TestGoodputRefuses(t *testing.T) {
	for args, want := range map[string]string{
		"--mtbf nn-workers=3h":                 `--mtbf: "nn-workers" is unknown; the nearest is "nn-worker"`,
		"--mtbf dense-ps=3h":                   `--mtbf: "dense-ps" is unknown`,
		"--mtbf nn-worker=0h":                  "--mtbf: nn-worker: 0ns; want more than 0",
		"--mtbf nn-worker=-3h":                 "--mtbf: nn-worker: -3h; want 0 to 100 years",
		"--mtbf nn-worker=3":                   "--mtbf: nn-worker: ",
		"--mtbf nn-worker":                     `--mtbf: "nn-worker"; want NAME=TIME`,
		"--mtbf node=1h,node=2h":               "--mtbf: node is named twice",
		"--gpus 20000":                         "20000 GPUs; want 1 to 16384",
		"--spot 2":                             "--spot: 2; want more than 0 and at most 1",
		"--spot 0.5 --dollars-per-gpu-hour 2":  "--spot and --dollars-per-gpu-hour: want one of the two",
		"--restart -3s":                        "--restart: -3s; want 0 to 100 years",
		"--length 0s":                          "--length: 0ns; want more than 0",
		"--checkpoint-every never":             "--checkpoint-every: want an interval, or auto",
		"--checkpoint-every 0s":                `"0s" is no interval`,
		"--recover none --checkpoint-every 1h": "there are no checkpoints",
		"--recover magic":                      `--recover: "magic" is unknown`,
		"--recover log --preset dgx-h100":      "--recover log: system hugectr has no PSs",
		"--recover ranks --preset dgx-h100":    "--recover ranks: the ranks of system hugectr hold",
		"--recover none,log":                   `--recover "none,log": want policies that go together`,
		"--preempted-every 0h":                 "--preempted-every: 0ns; want more than 0",
		"--disk 0MB/s":                         "--disk: ",
		"--trainings 0":                        "--trainings: 0; want 1 to 10000",
		"--replay -1":                          "--replay: -1; want 0 to 100",
		"--checkpoint-every 1s --length 9000h": "--checkpoint-every: 1s; want at least 3.24s in a training",
	} {
		_, said, code := goodputText(args)
		if code == 0 || !strings.Contains(said, want) || !strings.Contains(said, "sim: hint: ") {
			t.Errorf("sim goodput %s: exit %d: %s; want %q and a hint", args, code, said, want)
		}
	}
	_, said, _ := goodputText("--samples 1 --trainings 4 --length 10h --mtbf nn-worker=8h " +
		"--checkpoint-every 5h")
	const want = "--checkpoint-every 5h is longer than the mean time between failures, 60min"
	if !strings.Contains(said, want) {
		t.Errorf("%s; want %q", said, want)
	}
}

// A failure is noticed when a process has been silent for as long as the runtime waits.
func TestNoticeIsTheHangLimit(t *testing.T) {
	if time.Duration(noticeDefault) != member.DefaultHangLimit {
		t.Errorf("%v; the runtime has %v", noticeDefault, member.DefaultHangLimit)
	}
}
