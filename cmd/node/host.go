package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"tandem/algo/exec/backend"
	"tandem/algo/exec/evaluation"
	"tandem/algo/histogram"
	"tandem/algo/job"
	"tandem/algo/numeric/kernel/gemm"
	"tandem/datasets"
	"tandem/internal/cli"
	"tandem/runtime/blas"
	"tandem/runtime/member"
	"tandem/runtime/metrics"
	"tandem/runtime/process"
	"tandem/runtime/torch"
	"tandem/runtime/train"
)

// summary is what the host prints at the end.
type summary struct {
	Mode string `json:"mode"`
	// of the host's evaluation; each role has its own
	Engine     string  `json:"engine"`
	EngineRate float64 `json:"engine_gflops"` // measured after the run
	evaluation.Scores
	Samples          int               `json:"samples"`
	SamplesPerSecond float64           `json:"samples_per_s"`
	Steps            int               `json:"steps"`
	Ranks            int               `json:"ranks"`
	Rows             int               `json:"rows"`
	DenseDigest      string            `json:"dense_digest"`
	RowsDigest       string            `json:"rows_digest"`
	Staleness        histogram.Summary `json:"staleness"`                   // own
	StalenessCross   histogram.Summary `json:"staleness_cross"`             // per other rank
	MissedUpdates    histogram.Summary `json:"missed_updates"`              // per row gradient
	DroppedGradients uint64            `json:"dropped_gradients,omitempty"` // too late to count
}

func (p *program) hostCommand() *cobra.Command {
	var f flags
	c := &cobra.Command{
		Use: "host", Short: "Gather and watch the roles, and print the result as JSON", Args: cli.NoArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			j, fingerprint, err := f.load()
			if err != nil {
				return err
			}
			if err := f.limits.Validate(); err != nil {
				return cli.UsageError("see --help", "%v", err)
			}
			if f.every.Any() && f.saved == "" {
				return cli.UsageError("add --checkpoints FOLDER", "--checkpoint-every %v: no folder for them",
					f.every)
			}
			if f.redoLog != "" && !f.every.Any() {
				return cli.UsageError("add --checkpoint-every, as --checkpoint-every 10m",
					"--redo-log: without checkpoints the log would have all that was ever trained")
			}
			if f.copies != "" && f.saved == "" {
				return cli.UsageError("add --checkpoints FOLDER", "--checkpoint-copies: no folder to copy")
			}
			if f.standby && f.saved == "" {
				return cli.UsageError("add --checkpoints FOLDER", "--standby: no folder to take over")
			}
			if f.keep.Newest < 1 {
				return cli.UsageError("see --help", "--keep-checkpoints: %d; want at least 1", f.keep.Newest)
			}
			if f.keep.For < 0 {
				return cli.UsageError("see --help", "--keep-checkpoints-for: %v; want 0 or more", f.keep.For)
			}
			if f.full < 1 {
				return cli.UsageError("1 writes all rows to every checkpoint",
					"--checkpoint-full-every: %d; want at least 1", f.full)
			}
			if f.restarts < 0 {
				return cli.UsageError("see --help", "--restarts: %d; want at least 0", f.restarts)
			}
			return p.host(c.Context(), j, fingerprint, f)
		},
	}
	fs := c.Flags()
	fs.SortFlags = false
	f.jobFlags(fs)
	fs.StringVar(&f.listen, "listen", defaultHost, "let the processes of roles connect to this `HOST:PORT`")
	fs.DurationVar(&f.limits.Hang, "hang-limit", member.DefaultHangLimit,
		"drop a process that is silent for this long")
	fs.DurationVar(&f.limits.Return, "return-limit", member.DefaultReturnLimit,
		"give a process that died this long to come back")
	fs.IntVar(&f.limits.Deaths, "deaths", member.DefaultDeathsMax,
		"end the run when a process that can restart dies more often than this")
	f.savedFlag(fs)
	return c
}

// openAlone reads the data of a job, when this is the only host of the folder of checkpoints, if there is
// one. A standby host reads them while it waits.
func (p *program) openAlone(ctx context.Context, j job.Job, f flags) (data *datasets.Dataset,
	unlock func() error, err error) {
	unlock = func() error { return nil }
	open := func() error {
		if data == nil {
			data, err = p.open(j, f)
		}
		return err
	}
	if f.saved != "" {
		if unlock, err = p.lockCheckpoints(ctx, f, open); err != nil {
			return nil, nil, err
		}
	}
	if err := open(); err != nil {
		return nil, nil, errors.Join(err, unlock())
	}
	return data, unlock, nil
}

// host hosts a run whose processes others start.
func (p *program) host(ctx context.Context, j job.Job, fingerprint []byte, f flags) (err error) {
	if j.Training.Mode == job.Sequential {
		return &cli.Error{Err: fmt.Errorf("job %s: sequential training has no roles", j.Name),
			Hint: "use cmd/train, or another mode"}
	}
	own, err := p.identity(f, nil)
	if err != nil {
		return err
	}
	data, unlock, err := p.openAlone(ctx, j, f)
	if err != nil {
		return err
	}
	defer func() { err = cmp.Or(err, unlock()) }()
	content, err := datasets.Fingerprint(j.Data, job.DataFolder(p.dataDir, f.file))
	if err != nil {
		return err
	}
	source, err := datasets.TrainingSource(data, &j)
	if err != nil {
		return err
	}
	products, err := blas.FromEnvironment(p.stderr)
	if err != nil {
		return err
	}
	modules := torch.FromEnvironment(p.stderr)
	defer modules.Close()
	defer context.AfterFunc(ctx, modules.Close)() // a module that hangs must not keep the process
	var server *metrics.Server
	var refused metrics.Refused
	missing := process.PrintMissing(p.stderr)
	cluster := process.New(process.Options{
		Listen: f.listen, Job: j, Fingerprint: fingerprint, Data: content,
		Gathering: func(host string, run [16]byte, absent []job.Process) {
			server.SetNotReady(fmt.Sprintf("waiting for %d processes; next: %v", len(absent), absent[0]))
			missing(host, run, absent)
		},
		Stderr: p.stderr, Prefix: "node: ", Limits: f.limits, Drains: f.saved != "",
		Redo: f.redoLog, Fewer: f.fewer && f.restarts > 0 && f.every.Any(), TakesOver: f.standby,
		Identity: own, Refused: refused.Count,
	})
	machine := backend.Backend{Products: products, Torch: modules.HostEngine}
	options := train.Options{Backend: machine, Cluster: cluster}
	if f.saved != "" {
		done, err := p.keepCheckpoints(ctx, &options, j, f, data, source, p.graph(modules, &j, data))
		if f.standby && errors.As(err, new(*trainedError)) {
			fmt.Fprintln(p.stderr, "node: the training has ended; there is nothing to take over")
			return nil
		}
		if err != nil {
			return err
		}
		defer func() { err = cmp.Or(err, done()) }()
		options.Drain = p.interrupt.Begin()
	}
	if server, err = p.serveHost(f.metrics, j, source, &options, &refused); err != nil {
		return err
	}
	result, err := train.Run(ctx, j, source, data.Test, options)
	cluster.Close(err)
	if err != nil {
		return interrupted(err, f.saved)
	}
	return p.print(result, products)
}

// graph returns the graph of a module, with which its models are served without Python. If there can be none,
// a line says why.
func (p *program) graph(modules *torch.Modules, j *job.Job, data *datasets.Dataset) []byte {
	schema := datasets.WithDims(data.Schema, j)
	graph, err := modules.Graph(j, &schema)
	if err != nil {
		fmt.Fprintf(p.stderr, "node: %v\n", err)
	}
	return graph
}

// print prints the result of a training as JSON.
func (p *program) print(result *train.Result, products gemm.Products) error {
	e := json.NewEncoder(p.stdout)
	e.SetIndent("", "  ")
	return e.Encode(summary{
		Mode: result.Job.Training.Mode, Engine: products.Name(), EngineRate: blas.GFLOPS(products),
		Scores: result.Scores, Samples: result.Samples, Steps: result.Steps,
		SamplesPerSecond: float64(result.Samples) / result.Wall.Seconds(),
		Ranks:            result.Job.Roles.Ranks, Rows: result.Rows,
		DenseDigest: fmt.Sprintf("%016x", result.DenseDigest),
		RowsDigest:  fmt.Sprintf("%016x", result.RowsDigest),
		Staleness:   result.Staleness.Own.Summary(), StalenessCross: result.Staleness.Cross.Summary(),
		MissedUpdates: result.MissedUpdates.Summary(), DroppedGradients: result.Staleness.Dropped,
	})
}
