package serving

import (
	"bufio"
	"bytes"
	"context"
	_ "embed" // of the peer
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"go.yaml.in/yaml/v3"

	"tandem/algo/job"
	"tandem/experiments/internal/report"
	"tandem/experiments/speed/modules"
	"tandem/internal/build"
)

//go:embed peer.py
var peerScript string

// stand is where models are trained and served.
type stand struct {
	*plan
	python  string
	folder  string // for files and programs
	options report.Options
	meter   *report.Meter
}

// trained is a model that was trained, with all that its servers need.
type trained struct {
	model, exported string // folders
	table           string // the folder of its rows
	rows            *columns
}

// train trains and exports a model by the programs of this module, which it builds.
func (s *stand) train(ctx context.Context, m served) (t *trained, err error) {
	folder := filepath.Join(s.folder, m.Kind+m.Class)
	file, results := filepath.Join(folder, "job.yaml"), filepath.Join(folder, "results")
	t = &trained{model: filepath.Join(results, job.Sequential, "model"),
		exported: filepath.Join(folder, "exported"), table: filepath.Join(folder, "table")}
	j := job.Default()
	j.Data, j.Training.Mode, j.Training.Seed = m.WithSeed(s.Seed), job.Sequential, s.Seed
	j.Model.Kind, j.Model.EmbeddingDim, j.Model.Bottom, j.Model.Top = m.Kind, m.Dim, m.Bottom, m.Top
	j.Model.Class, j.Model.Arguments = m.Class, m.Arguments
	if m.Class != "" {
		j.Model.File = "net.py" // beside the job
	}
	write := func() error {
		text, err := yaml.Marshal(j.Resolved())
		return errors.Join(err, os.WriteFile(file, text, 0o600))
	}
	if err := errors.Join(os.Mkdir(folder, 0o755), write(),
		os.WriteFile(filepath.Join(folder, "net.py"), []byte(modules.Source), 0o600)); err != nil {
		return nil, err
	}
	for _, name := range []string{"data", "train", "model", "serve"} {
		if err := build.Program(ctx, s.program(name), "tandem/cmd/"+name); err != nil {
			return nil, err
		}
	}
	if err := run(ctx, s.program("data"), "convert", "--file", file, "--out", t.table); err != nil {
		return nil, err
	}
	converted, err := job.Load(filepath.Join(t.table, "job.yaml"))
	if err != nil {
		return nil, err
	}
	j.Data, j.Data.Cache = converted.Data, job.CacheOff
	if t.rows, err = newColumns(&j.Data); err != nil {
		return nil, err
	}
	if err := write(); err != nil {
		return nil, err
	}
	if err := run(ctx, s.program("train"), "--file", file, "--out", results); err != nil {
		return nil, err
	}
	return t, run(ctx, s.program("model"), "export", t.model, "--out", t.exported)
}

// run runs a program to its end.
func run(ctx context.Context, words ...string) error {
	if out, err := exec.CommandContext(ctx, words[0], words[1:]...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", strings.Join(words, " "), err, bytes.TrimSpace(out))
	}
	return nil
}

// program returns the path of a program of this module.
func (s *stand) program(name string) string { return filepath.Join(s.folder, name) }

// measure trains a model and measures its servers, which take turns.
func (s *stand) measure(ctx context.Context, m served) (results []*result, err error) {
	s.meter.Show(0, 1, m.Name)
	t, err := s.train(ctx, m)
	if err != nil {
		return nil, err
	}
	for _, w := range ways(m) {
		for _, rows := range s.Rows {
			for _, clients := range s.Clients {
				results = append(results, &result{Model: m.name(), Way: w.name, Rows: rows, Clients: clients})
			}
		}
	}
	answers := map[int][]float32{} // to the first request, by rows
	for round := range s.Rounds {
		s.meter.Show(round, s.Rounds, m.Name)
		at := results
		for _, w := range ways(m) {
			n := len(s.Rows) * len(s.Clients)
			if err := s.round(ctx, t, w, at[:n], answers); err != nil {
				return nil, fmt.Errorf("%s: %w", w.name, err)
			}
			at = at[n:]
		}
	}
	return results, nil
}

// agreement is how much answers of different servers may differ, as an export's from Tandem's.
const agreement = 1e-5

// round starts a server and measures it once with each number of rows and clients.
func (s *stand) round(ctx context.Context, t *trained, w way, results []*result,
	answers map[int][]float32) error {
	server, err := s.start(ctx, t, w)
	if err != nil {
		return err
	}
	defer server.stop()
	connect := func() (client, error) {
		if w.grpc {
			return dialGRPC(server.grpc)
		}
		return dialHTTP(server.http, w.raw)
	}
	for _, r := range results {
		requests, err := t.rows.requests(r.Rows, w)
		if err != nil {
			return err
		}
		if err := compare(connect, requests[0], r.Rows, answers); err != nil {
			return err
		}
		got, err := load(ctx, connect, r.Clients, requests, s.Time)
		if err != nil {
			return err
		}
		r.Peer = server.peer
		r.SamplesPerSecond = append(r.SamplesPerSecond, float64(len(got.latency)*r.Rows)/got.seconds)
		r.P50, r.P99 = append(r.P50, got.quantile(0.5)), append(r.P99, got.quantile(0.99))
	}
	return nil
}

// compare returns an error unless the answer to a request is that of the servers before.
func compare(connect func() (client, error), request []byte, rows int, answers map[int][]float32) error {
	c, err := connect()
	if err != nil {
		return err
	}
	defer c.Close()
	got, err := c.ask(request)
	if err != nil {
		return err
	}
	want, known := answers[rows]
	if !known {
		answers[rows] = got
		want = got
	}
	if len(got) != rows || len(want) != rows {
		return fmt.Errorf("%d predictions of %d rows", len(got), rows)
	}
	for i := range got {
		if math.Abs(float64(got[i]-want[i])) > agreement {
			return fmt.Errorf("prediction %d of the first request is %g, and %g by the first server", i+1,
				got[i], want[i])
		}
	}
	return nil
}

// server is a server in a process of its own.
type server struct {
	http, grpc string // addresses
	peer       string // what the peer says of itself
	process    *exec.Cmd
	end        func() error // makes the process end
}

// start starts a server.
func (s *stand) start(ctx context.Context, t *trained, w way) (*server, error) {
	if w.peer {
		return s.startPeer(ctx, t)
	}
	command := exec.CommandContext(ctx, s.program("serve"), append([]string{t.model, "--http", "127.0.0.1:0",
		"--grpc", "127.0.0.1:0"}, w.args...)...)
	out, err := command.StderrPipe()
	if err != nil {
		return nil, err
	}
	line, err := firstLine(command, out)
	_, address, found := strings.Cut(line, "http://")
	if err != nil || !found {
		return nil, fmt.Errorf("cmd/serve: %w: %s", err, line)
	}
	one := &server{process: command, end: func() error { return command.Process.Signal(syscall.SIGTERM) }}
	one.http, _, _ = strings.Cut(address, "/")
	_, one.grpc, _ = strings.Cut(line, ", gRPC at ")
	return one, nil
}

// startPeer starts the peer.
func (s *stand) startPeer(ctx context.Context, t *trained) (*server, error) {
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	address := free.Addr().(*net.TCPAddr)
	free.Close()
	command := exec.CommandContext(ctx, s.python, "-c", peerScript, strconv.Itoa(address.Port), t.exported,
		filepath.Join(t.table, "train.csv"), filepath.Join(t.table, "test.csv"))
	input, err := command.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	var problems bytes.Buffer
	command.Stderr = &problems
	line, err := firstLine(command, out)
	if err != nil {
		return nil, fmt.Errorf("the peer: %w: %s", err, problems.Bytes())
	}
	return &server{http: address.String(), peer: line, process: command, end: input.Close}, nil
}

// firstLine starts a program and returns the first line of one of its outputs, or how it has ended.
func firstLine(command *exec.Cmd, out io.Reader) (string, error) {
	if err := command.Start(); err != nil {
		return "", err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return line, fmt.Errorf("no line (%w), then %v", err, command.Wait())
	}
	return strings.TrimSpace(line), nil
}

// stop ends a server.
func (s *server) stop() {
	_ = s.end() // it has ended already if this fails
	_ = s.process.Wait()
}
