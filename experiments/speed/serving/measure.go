package serving

import (
	"bufio"
	"bytes"
	"context"
	_ "embed" // of the peer
	"fmt"
	"math"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"go.yaml.in/yaml/v3"

	state "tandem/algo/exec"
	"tandem/algo/job"
	"tandem/datasets"
	"tandem/experiments/internal/report"
	"tandem/runtime/checkpoint"
	"tandem/runtime/export"
	"tandem/runtime/train"
)

//go:embed peer.py
var peerScript string

// stand is where models are trained and served.
type stand struct {
	plan    *plan
	python  string
	folder  string // for files
	options report.Options
	about   string // the peer, by itself
}

// trained is a model that was trained, with all that its servers need.
type trained struct {
	model, exported, table string // paths
	rows                   *columns
}

// train trains and exports a model.
func (s *stand) train(ctx context.Context, m served) (t *trained, err error) {
	folder := filepath.Join(s.folder, m.Kind)
	if err := os.Mkdir(folder, 0o755); err != nil {
		return nil, err
	}
	t = &trained{model: filepath.Join(folder, "model"), exported: filepath.Join(folder, "exported"),
		table: filepath.Join(folder, "rows.csv")}
	set, err := datasets.Open(m.WithSeed(s.plan.Seed), s.options.DataFolder)
	if err != nil {
		return nil, err
	}
	j := job.Default()
	j.Name, j.Training.Mode, j.Training.Seed = m.Kind, job.Sequential, s.plan.Seed
	j.Model.Kind, j.Model.EmbeddingDim, j.Model.Bottom, j.Model.Top = m.Kind, m.Dim, m.Bottom, m.Top
	if j.Data, err = writeTable(t.table, set); err != nil {
		return nil, err
	}
	if t.rows, err = newColumns(&set.Schema, set.Test); err != nil {
		return nil, err
	}
	if set, err = datasets.Open(j.Data, ""); err != nil {
		return nil, err
	}
	source, err := datasets.TrainingSource(set, &j)
	if err != nil {
		return nil, err
	}
	text, err := yaml.Marshal(j.Resolved())
	if err != nil {
		return nil, err
	}
	manifest := &checkpoint.Manifest{Mode: j.Training.Mode, Step: source.Steps(), Job: text,
		Scaling: set.Scaling}
	save := func(now state.State) error { return checkpoint.Save(t.model, manifest, now) }
	if _, err := train.Run(ctx, j, source, set.Test, train.Options{Backend: s.options.Backend,
		Trained: save}); err != nil {
		return nil, err
	}
	saved, err := checkpoint.Open(t.model)
	if err != nil {
		return nil, err
	}
	defer saved.Close()
	_, err = export.Write(t.exported, saved, export.Parquet)
	return t, err
}

// measure trains a model and measures its servers, which take turns.
func (s *stand) measure(ctx context.Context, m served) ([]*result, error) {
	t, err := s.train(ctx, m)
	if err != nil {
		return nil, err
	}
	var results []*result
	for _, w := range ways() {
		for _, rows := range s.plan.Rows {
			for _, clients := range s.plan.Clients {
				results = append(results, &result{Model: m.Name + ", " + m.Kind, Way: w.name, Rows: rows,
					Clients: clients})
			}
		}
	}
	answers := map[int][]float32{} // to the first request, by rows
	for range s.plan.Rounds {
		at := results
		for _, w := range ways() {
			n := len(s.plan.Rows) * len(s.plan.Clients)
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
		got, err := load(ctx, connect, r.Clients, requests, s.plan.Time)
		if err != nil {
			return err
		}
		r.SamplesPerSecond = append(r.SamplesPerSecond, float64(got.requests*r.Rows)/got.seconds)
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
	process    *exec.Cmd
	end        func() error // makes the process end
}

// start starts a server.
func (s *stand) start(ctx context.Context, t *trained, w way) (*server, error) {
	if w.peer {
		return s.startPeer(ctx, t)
	}
	program := filepath.Join(s.folder, "serve")
	if _, err := os.Stat(program); err != nil {
		if out, err := exec.CommandContext(ctx, "go", "build", "-o", program,
			"tandem/cmd/serve").CombinedOutput(); err != nil {
			return nil, fmt.Errorf("cannot build cmd/serve: %w: %s", err, bytes.TrimSpace(out))
		}
	}
	command := exec.CommandContext(ctx, program, append([]string{t.model, "--http", "127.0.0.1:0", "--grpc",
		"127.0.0.1:0"}, w.args...)...)
	out, err := command.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := command.Start(); err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	_, address, found := strings.Cut(line, "http://")
	if err != nil || !found {
		return nil, fmt.Errorf("cmd/serve: %w %s", command.Wait(), line)
	}
	one := &server{process: command, end: func() error { return command.Process.Signal(syscall.SIGTERM) }}
	one.http, _, _ = strings.Cut(address, "/")
	_, one.grpc, _ = strings.Cut(strings.TrimSpace(line), ", gRPC at ")
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
	command := exec.CommandContext(ctx, s.python, "-c", peerScript, t.exported, t.table,
		strconv.Itoa(address.Port))
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
	if err := command.Start(); err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return nil, fmt.Errorf("the peer: %w: %s", command.Wait(), problems.Bytes())
	}
	s.about = strings.TrimSpace(line)
	return &server{http: address.String(), process: command, end: input.Close}, nil
}

// stop ends a server.
func (s *server) stop() {
	_ = s.end() // it has ended already if this fails
	_ = s.process.Wait()
}
