package role_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"tandem/algo/protocol/msg"
	"tandem/algo/protocol/pace"
	"tandem/algo/protocol/role"
	"tandem/algo/unit"
)

// Every file of testdata is a scenario. The commands:
//
//	start rule=MODE [overlap=…] [staleness=…] [SETTING OF THE MODE=…] [dense=…] [ranks=…] [ews=…] [pss=…]
//	      [steps=…] [prefetch=…] [window=…] [buckets=…] [retry=…]
//	owns rank=… step=… [pss=(…)]      only these PSs have rows of the batch
//	deliver|lose|repeat [kind=…] [rank=…] [step=…] [to=…]  messages in flight that match; to is an index
//	finish [work=…] [rank=…] [step=…] [bucket=…]           work in flight that matches; bucket: this part
//	reduce [rank=…]                   buckets that are summed over all ranks
//	timer                             a second later the timer of every role fires
//	crash role=loader|ew|coordinator index=…               a role crashes and comes back
//	under-way                         prints all messages, work and buckets in flight
//	run [records] [hold=(…)] [rank=…] delivers everything except messages of these kinds, about one rank or
//	                                  all; prints all outputs, or records only
func TestScenarios(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d scenarios found, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			var c *cluster
			datadriven.RunTest(t, file, func(t *testing.T, d *datadriven.TestData) string {
				if d.Cmd == "start" {
					c = start(t, d)
				} else {
					command(t, c, d)
				}
				defer c.log.Reset()
				if d.HasArg("records") {
					return records(c.log.String())
				}
				if c.log.Len() == 0 {
					return "ok\n"
				}
				return c.log.String()
			})
		})
	}
}

// number returns an argument, or absent if it is not given.
func number(t *testing.T, d *datadriven.TestData, key string, absent int32) int32 {
	value := int64(absent)
	d.MaybeScanArgs(t, key, &value)
	return int32(value)
}

func start(t *testing.T, d *datadriven.TestData) *cluster {
	cfg := role.Config{
		Ranks: number(t, d, "ranks", 2), EmbeddingWorkers: number(t, d, "ews", 1),
		EmbeddingPSs: number(t, d, "pss", 1), Steps: number(t, d, "steps", 1),
		Prefetch: number(t, d, "prefetch", 2), EdgeWindow: number(t, d, "window", 2),
		Buckets: make([]unit.Bytes, number(t, d, "buckets", 1)),
		Retry:   unit.Tick(number(t, d, "retry", 0)) * unit.Second,
	}
	for i := range cfg.Buckets {
		cfg.Buckets[i] = 1000
	}
	var mode string
	d.ScanArgs(t, "rule", &mode)
	overlap := "none"
	d.MaybeScanArgs(t, "overlap", &overlap)
	own := map[string]int{}
	for _, s := range pace.SettingsOf(mode) {
		if d.HasArg(s.Name) {
			own[s.Name] = int(number(t, d, s.Name, 0))
		}
	}
	rule, err := pace.New(mode, pace.Settings{
		Staleness: int(number(t, d, "staleness", 0)), Overlap: overlap, Ranks: int(cfg.Ranks), Values: own,
	})
	if err != nil {
		t.Fatal(err)
	}
	if cfg.Rule = rule; rule.Dense().DensePSs {
		cfg.DensePSs = slices.Repeat([]unit.Bytes{1000}, int(number(t, d, "dense", 1)))
	}
	if err := cfg.Validate(); err != nil {
		t.Fatal(err)
	}
	c := newCluster(cfg)
	for _, r := range c.roles {
		c.step(r.Address(), role.Input{Kind: role.Start}, "start")
	}
	return c
}

func command(t *testing.T, c *cluster, d *datadriven.TestData) {
	switch d.Cmd {
	case "owns":
		var owners []int32
		for _, arg := range d.CmdArgs {
			if arg.Key == "pss" {
				for i := range arg.Vals {
					var p int64
					arg.Scan(t, i, &p)
					owners = append(owners, int32(p))
				}
			}
		}
		c.owners[[2]int32{number(t, d, "rank", 0), number(t, d, "step", 0)}] = owners
	case "deliver":
		c.deliver(matchMessage(t, d))
	case "lose":
		for _, m := range c.pull(matchMessage(t, d)) {
			fmt.Fprintf(&c.log, "lost: %s to %v\n", brief(m), m.To)
		}
	case "repeat":
		match := matchMessage(t, d)
		sent := slices.Clone(c.mail)
		c.deliver(match)
		for _, m := range sent {
			if match(m) {
				c.mail = append(c.mail, m)
			}
		}
	case "finish":
		c.finish(matchWork(t, d))
	case "reduce":
		rank := number(t, d, "rank", -1)
		c.reduce(func(p pending) bool { return rank < 0 || p.to.Index == rank })
	case "timer":
		c.now += unit.Second
		for _, r := range c.roles {
			c.step(r.Address(), role.Input{Kind: role.TimerFired}, "timer")
		}
	case "crash":
		c.crash(t, d)
	case "under-way":
		c.printUnderWay()
	case "run":
		c.run(matchHeld(t, d))
	default:
		d.Fatalf(t, "unknown command %q; TestScenarios lists them", d.Cmd)
	}
}

func matchMessage(t *testing.T, d *datadriven.TestData) func(msg.Message) bool {
	var kind string
	d.MaybeScanArgs(t, "kind", &kind)
	rank, step, to := number(t, d, "rank", -1), number(t, d, "step", -1), number(t, d, "to", -1)
	return func(m msg.Message) bool {
		return (kind == "" || m.Kind.String() == kind) && (rank < 0 || m.Rank == rank) &&
			(step < 0 || m.Step == step) && (to < 0 || m.To.Index == to)
	}
}

// matchHeld returns whether run holds back a message.
func matchHeld(t *testing.T, d *datadriven.TestData) func(msg.Message) bool {
	var kinds []string
	for _, arg := range d.CmdArgs {
		if arg.Key == "hold" {
			kinds = arg.Vals
		}
	}
	rank := number(t, d, "rank", -1)
	return func(m msg.Message) bool {
		return slices.Contains(kinds, m.Kind.String()) && (rank < 0 || m.Rank == rank)
	}
}

func matchWork(t *testing.T, d *datadriven.TestData) func(pending) bool {
	var work string
	d.MaybeScanArgs(t, "work", &work)
	rank, step, bucket := number(t, d, "rank", -1), number(t, d, "step", -1), number(t, d, "bucket", -1)
	return func(p pending) bool {
		w := p.in.Work
		return (work == "" || w.Kind.String() == work) && (rank < 0 || w.Rank == rank) &&
			(step < 0 || w.Step == step) &&
			(bucket < 0 || p.in.Kind == role.WorkPart && p.in.Bucket == bucket)
	}
}

// crash restarts a role and removes its work in flight.
func (c *cluster) crash(t *testing.T, d *datadriven.TestData) {
	var name string
	d.ScanArgs(t, "role", &name)
	a := msg.Address{Role: map[string]msg.Role{
		"loader": msg.DataLoader, "ew": msg.EmbeddingWorker, "coordinator": msg.Coordinator,
	}[name], Index: number(t, d, "index", 0)}
	c.crashes++
	c.work = slices.DeleteFunc(c.work, func(p pending) bool { return p.to == a })
	c.step(a, role.Input{Kind: role.Start, Incarnation: c.crashes}, "crashed and is back")
}

func (c *cluster) printUnderWay() {
	for _, m := range c.mail {
		fmt.Fprintf(&c.log, "message %v\n", m)
	}
	for _, p := range c.work {
		fmt.Fprintf(&c.log, "work %s on %v\n", workName(p.in.Work), p.to)
	}
	for _, p := range c.reduced {
		fmt.Fprintf(&c.log, "bucket %d of step %d for %v\n", p.in.Bucket, p.in.Work.Step, p.to)
	}
	if c.idle() {
		c.log.WriteString("nothing\n")
	}
}

// records returns the records in a log, with FINISHED and HALT.
func records(log string) string {
	var out strings.Builder
	var who string
	for line := range strings.Lines(log) {
		line = strings.TrimSuffix(line, "\n")
		if !strings.HasPrefix(line, "  ") {
			who, _, _ = strings.Cut(line, ":")
			continue
		}
		if what, ok := strings.CutPrefix(line, "  record "); ok {
			fmt.Fprintf(&out, "%s: %s\n", who, what)
		} else if line == "  FINISHED" || strings.HasPrefix(line, "  HALT") {
			fmt.Fprintf(&out, "%s:%s\n", who, line[1:])
		}
	}
	return out.String()
}
