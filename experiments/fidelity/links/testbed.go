package links

import (
	"bytes"
	"context"
	_ "embed" // of the script
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"tandem/algo/job"
	"tandem/algo/unit"
	"tandem/internal/build"
)

//go:embed namespaces.sh
var script string

// cellTimeout bounds a run: the slowest takes half a minute on an idle machine.
const cellTimeout = 5 * time.Minute

// isolated begins the command of a process that is root in namespaces of its own. All that it starts ends
// with it.
func isolated() []string {
	return []string{"unshare", "-rnm", "--pid", "--fork", "--kill-child", "--mount-proc", "bash", "-c"}
}

// missing returns an error that says what this machine lacks or refuses.
func missing(ctx context.Context) error {
	for _, program := range []string{"unshare", "nsenter", "ip", "tc", "bash", "go"} {
		if _, err := exec.LookPath(program); err != nil {
			return fmt.Errorf("there is no program %s on this machine (Debian: apt install iproute2 "+
				"util-linux)", program)
		}
	}
	const try = "ip link set lo up && ip link add v type veth peer name e && " +
		"tc qdisc add dev e root tbf rate 1mbit burst 32kb latency 400ms && " +
		"echo reno > /proc/sys/net/ipv4/tcp_congestion_control"
	command := isolated()
	text, err := exec.CommandContext(ctx, command[0], append(command[1:], try)...).CombinedOutput()
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		lines := strings.Split(strings.TrimSpace(string(text)), "\n")
		return fmt.Errorf("this machine refuses slow links between network namespaces: %s (%w)",
			lines[len(lines)-1], err)
	}
	return nil
}

// testbed is a folder with the programs that run in the namespaces.
type testbed struct{ folder string }

// newTestbed compiles the programs.
func newTestbed(ctx context.Context) (*testbed, error) {
	folder, err := os.MkdirTemp("", "tandem-links-")
	if err != nil {
		return nil, fmt.Errorf("links: cannot create a folder for the programs: %w", err)
	}
	s := &testbed{folder}
	for name, path := range map[string]string{
		"node": "tandem/cmd/node", "probe": "tandem/experiments/fidelity/links/probe",
	} {
		if err := build.Program(ctx, filepath.Join(folder, name), path); err != nil {
			s.remove()
			return nil, fmt.Errorf("links: %w", err)
		}
	}
	return s, nil
}

// remove deletes the folder.
func (s *testbed) remove() { _ = os.RemoveAll(s.folder) } // the rest is in the system's temporary folder

// run runs the script in new namespaces. The error has the last line of what the programs say.
func (s *testbed) run(ctx context.Context, what string, rate unit.BytesPerSec, more ...string) error {
	ctx, cancel := context.WithTimeout(ctx, cellTimeout)
	defer cancel()
	words := append(isolated(), script, "namespaces.sh", what, fmt.Sprintf("%.0fbit", 8*float64(rate)),
		s.folder)
	command := exec.CommandContext(ctx, words[0], append(words[1:], more...)...)
	var text bytes.Buffer
	command.Stderr = &text
	err := command.Run()
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	said, _ := os.ReadFile(filepath.Join(s.folder, "errors")) // absent: no program has said anything
	lines := strings.Split(strings.TrimSpace(text.String()+string(said)), "\n")
	return fmt.Errorf("%s at %v: %w: %s", what, rate, err, lines[len(lines)-1])
}

// link is a link as plain TCP finds it.
type link struct {
	// OneWay and BothWays are the bytes a second that a program receives while nothing goes the other way,
	// and while as much does. RoundTrip is of a byte, when nothing else is on the link.
	OneWay    float64 `json:"one_way_bytes_per_s"`
	BothWays  float64 `json:"both_ways_bytes_per_s"`
	RoundTrip float64 `json:"round_trip_s"`
}

// probe measures a link of a rate.
func (s *testbed) probe(ctx context.Context, rate unit.BytesPerSec) (l link, err error) {
	if err := s.run(ctx, "probe", rate); err != nil {
		return l, err
	}
	text, err := os.ReadFile(filepath.Join(s.folder, "probe.json"))
	if err != nil {
		return l, err
	}
	return l, json.Unmarshal(text, &l)
}

// trained is a run of cmd/node.
type trained struct {
	seconds float64
	busiest float64 // bytes on the busiest link one way
}

// train runs a job.
func (s *testbed) train(ctx context.Context, rate unit.BytesPerSec, j job.Job) (t trained, err error) {
	text, err := yaml.Marshal(j.Resolved())
	if err != nil {
		return t, err
	}
	if err := os.WriteFile(filepath.Join(s.folder, "job.yaml"), text, 0o600); err != nil {
		return t, err
	}
	dense := 0
	if rule, err := j.Rule(); err == nil && rule.Dense().DensePSs {
		dense = j.Roles.DensePSs
	}
	if err := s.run(ctx, "train", rate, strconv.Itoa(j.Roles.Ranks), strconv.Itoa(dense)); err != nil {
		return t, err
	}
	result, err := os.ReadFile(filepath.Join(s.folder, "result.json"))
	if err != nil {
		return t, err
	}
	counts, err := os.ReadFile(filepath.Join(s.folder, "bytes"))
	if err != nil {
		return t, err
	}
	if t.seconds, err = secondsOf(result); err != nil {
		return t, err
	}
	t.busiest, err = busiestOf(string(counts))
	return t, err
}

// secondsOf returns the time of training from what the host prints.
func secondsOf(text []byte) (float64, error) {
	var r struct {
		Samples int     `json:"samples"`
		Rate    float64 `json:"samples_per_s"`
	}
	if err := json.Unmarshal(text, &r); err != nil {
		return 0, fmt.Errorf("links: the result of node: %w", err)
	}
	if r.Samples < 1 || !(r.Rate > 0) {
		return 0, errors.New("links: the result of node has no samples a second")
	}
	return float64(r.Samples) / r.Rate, nil
}

// busiestOf returns the most bytes that any device of /proc/net/dev has received or sent.
func busiestOf(text string) (most float64, err error) {
	for line := range strings.Lines(text) {
		_, counts, _ := strings.Cut(line, ":")
		columns := strings.Fields(counts)
		if len(columns) < 9 {
			return 0, fmt.Errorf("links: no counts of bytes in %q", strings.TrimSpace(line))
		}
		for _, column := range []string{columns[0], columns[8]} { // received, sent
			bytes, err := strconv.ParseFloat(column, 64)
			if err != nil {
				return 0, fmt.Errorf("links: counts of bytes: %w", err)
			}
			most = max(most, bytes)
		}
	}
	return most, nil
}
