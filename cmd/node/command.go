package main

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"

	"tandem/algo/exec/backend"
	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/table"
	"tandem/algo/protocol/fault"
	"tandem/algo/protocol/msg"
	"tandem/algo/unit"
	"tandem/datasets"
	"tandem/internal/cli"
	"tandem/runtime/blas"
	"tandem/runtime/checkpoint"
	"tandem/runtime/cuda/engine"
	"tandem/runtime/driver"
	"tandem/runtime/gpuhealth"
	"tandem/runtime/member"
	"tandem/runtime/memory"
	"tandem/runtime/metrics"
	"tandem/runtime/process"
	"tandem/runtime/record"
	"tandem/runtime/torch"
	"tandem/runtime/train"
)

// program is what the commands need of the process that runs them.
type program struct {
	stdout, stderr io.Writer
	dataDir        string // TANDEM_DATA
	interrupt      *cli.Interruption
}

// flags are those of all commands. Each command declares the ones that it has.
type flags struct {
	file       string
	index      int
	listen     string
	host       string
	run        string
	wait       time.Duration
	hostReturn time.Duration
	buffer     unit.Bytes // for rows that change while a checkpoint is written
	restarts   int
	fewer      bool
	standby    bool
	redoLog    string
	record     string
	faults     string
	placed     string
	limits     process.Limits
	metrics    string
	tls        string       // folder of certificates
	saved      string       // folder of checkpoints
	copies     string       // URL of their copies
	every      train.Saving // when checkpoints are written
	keep       checkpoint.Keep
	full       int // the number of checkpoints of which one has all rows
}

// defaultHost is where the host listens by default.
const defaultHost = "127.0.0.1:7300"

const usage = `Play one role of a training cluster, or several, as one process on this or
another machine.

cmd/train --processes starts a whole cluster on one machine; this command is for
starting its processes by hand, or on several machines. Start the host, then
every process, in any order, all from one build and with the same job file. The
section roles of the job says how many of each role there are, and its placement
which of them share a process; by default each has its own.

  host              gathers the roles and prints the result; it reads the data,
                    too, for the test rows
  data-loader       reads the training data
  embedding-worker  turns ids into pooled embeddings
  embedding-ps      holds a shard of the embedding rows
  nn-worker         is a rank, which trains the dense network
  dense-ps          holds a shard of the dense network, in modes that have one
  coordinator       decides when ranks may go on, or whose gradients count, in
                    modes that have one
  process           plays several of these, as the placement says

A process of data loader, embedding workers or coordinator that dies during
training may come back: start it again, with the same command, within the host's
--return-limit. After the death of any other process all others stop within 5
seconds and name it. If the host dies, they wait for it for --host-return.

With --checkpoints at the host, Ctrl-C or SIGTERM of the host or of any process
ends the run after the batches in flight, and all write the model to a folder
that they share. Started again with the same commands, they continue. A second
signal stops at once; so does the first without --checkpoints. With
--checkpoint-every, too, the host also saves the model on the way. After any
other death the others then stay: start the process again, with the same
command, and all begin again with the newest checkpoint. If it is not back
within --return-limit, they begin without it, where the mode can, and take it in
at a later checkpoint. A second host with --standby takes over from the first.

With --tls everywhere, connections are encrypted and only processes with a
certificate of the run and of their role are let in; the command cert makes
them. Without it, use a network of your own.

--faults injects faults into the messages between roles and crashes roles:
drop=0.01,duplicate=0.01,reorder=16,delay=0.01:50ms,seed=1, and
crash=ROLE/INDEX@STEP+TIME, such as crash=embedding-worker/0@40+2s.`

const examples = `  go build -o tandem-node ./cmd/node

  # one machine, a terminal (or &) for each; the job has one embedding worker,
  # one embedding PS and two ranks
  ./tandem-node host --file job.yaml
  ./tandem-node data-loader --file job.yaml
  ./tandem-node embedding-worker --file job.yaml
  ./tandem-node embedding-ps --file job.yaml
  ./tandem-node dense-ps --file job.yaml      # in modes with dense PSs, as ssp
  ./tandem-node coordinator --file job.yaml   # in modes with one, as ssp
  ./tandem-node nn-worker --file job.yaml --index 0
  ./tandem-node nn-worker --file job.yaml --index 1

  # embedding worker and rank together, in a job with placement: workers
  ./tandem-node process embedding-worker 0 nn-worker 0 --file job.yaml

  # several machines: listen where the others can connect, and name the host
  10.0.0.1$ ./tandem-node host --file job.yaml --listen 10.0.0.1:7300
  10.0.0.2$ ./tandem-node embedding-ps --file job.yaml \
                --listen 10.0.0.2:7301 --host 10.0.0.1:7300`

func (p *program) command() *cobra.Command {
	c := &cobra.Command{
		Use: "node", Short: "Play roles of a training cluster", Long: usage, Example: examples,
		Args: cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, args []string) error {
			if err := cli.NoArguments(c, args); err != nil {
				return err
			}
			return cli.UsageError("commands are "+strings.Join(cli.Commands(c), ", ")+"; see --help",
				"no command")
		},
	}
	cli.Configure(c, p.stdout, p.stderr)
	c.AddCommand(p.hostCommand(), p.processCommand(), p.manifestsCommand(), p.certCommand())
	for _, r := range msg.Roles() {
		c.AddCommand(p.roleCommand(r))
	}
	return c
}

// roleCommand returns the command that plays a role.
func (p *program) roleCommand(r msg.Role) *cobra.Command {
	var f flags
	c := &cobra.Command{
		Use: r.String(), Short: fmt.Sprintf("Play the role of %v", r), Args: cli.NoArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			j, fingerprint, err := f.load()
			if err != nil {
				return err
			}
			rule, err := j.Rule()
			if r == msg.Coordinator && (err != nil || !rule.Dense().Coordinator) {
				return cli.UsageError("to start the host, write node host", "mode %s has no coordinator",
					j.Training.Mode)
			}
			return p.play(c.Context(), job.Process{{Role: r, Index: int32(f.index)}}, j, fingerprint, f)
		},
	}
	f.memberFlags(c.Flags(), func(fs *pflag.FlagSet) {
		fs.IntVar(&f.index, "index", 0, "play the role of this kind that has this `NUMBER`, from 0 "+
			"(default: 0)")
	})
	return c
}

// processCommand returns the command that plays several roles.
func (p *program) processCommand() *cobra.Command {
	var f flags
	c := &cobra.Command{
		Use:   "process ROLE [INDEX] [ROLE [INDEX]]...",
		Short: "Play several roles in one process, as the placement says",
		Args:  cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, args []string) error {
			roles, err := job.ParseProcess(args)
			if err != nil {
				return cli.UsageError("write roles as embedding-worker 0 nn-worker 0", "%v", err)
			}
			if len(roles) == 0 {
				return cli.UsageError("write roles as embedding-worker 0 nn-worker 0", "no role")
			}
			j, fingerprint, err := f.load()
			if err != nil {
				return err
			}
			return p.play(c.Context(), roles, j, fingerprint, f)
		},
	}
	f.memberFlags(c.Flags(), func(*pflag.FlagSet) {})
	return c
}

// memberFlags declares the flags of a process with roles; more declares further ones.
func (f *flags) memberFlags(fs *pflag.FlagSet, more func(*pflag.FlagSet)) {
	fs.SortFlags = false
	f.jobFlags(fs)
	more(fs)
	fs.StringVar(&f.listen, "listen", "127.0.0.1:0",
		"let the other processes connect to this `HOST:PORT`; port 0 is any free one")
	fs.StringVar(&f.host, "host", defaultHost, "join the host at this `HOST:PORT`, or at the first of "+
		"several that answers, with commas between them")
	fs.StringVar(&f.run, "run", "", "join the run with this `ID`, which the host prints (default: the run "+
		"that the host serves)")
	fs.DurationVar(&f.wait, "wait", 10*time.Second, "wait this long for the host to answer")
	fs.DurationVar(&f.hostReturn, "host-return", member.DefaultReturnLimit,
		"if the host dies during the run, wait this long for it to be started again; 0: do not wait")
	fs.TextVar(&f.buffer, "checkpoint-buffer", unit.Bytes(1<<30), "training goes on while a checkpoint is "+
		"written, and waits where more than this `SIZE` of rows of the process changes meanwhile")
	fs.StringVar(&f.record, "record", "", "record the roles in this `FOLDER`, for go run ./cmd/sim replay")
}

// jobFlags declares the flags that change the job.
func (f *flags) jobFlags(fs *pflag.FlagSet) {
	fs.StringVarP(&f.file, "file", "f", "", "read the job from this YAML `FILE`, the same for every process "+
		"(default: the census income job)")
	fs.StringVar(&f.faults, "faults", "", "inject `FAULTS`, the same for every process; see node --help "+
		"(default: the job file's, or none)")
	f.placementFlag(fs)
	fs.StringVar(&f.tls, "tls", "", "talk only to processes of the run that ca.crt, tls.crt and tls.key in "+
		"this `FOLDER` name, or those in its folder of the role, as node cert makes them (default: to any, "+
		"without encryption)")
	fs.StringVar(&f.metrics, "metrics-address", "", "serve /metrics for Prometheus, /healthz, "+
		"/readyz and /debug/pprof at this `HOST:PORT`, where port 0 is any free one (default: nowhere)")
}

// placementFlag declares the flag that changes the job's placement.
func (f *flags) placementFlag(fs *pflag.FlagSet) {
	fs.StringVar(&f.placed, "placement", "",
		"let roles share processes by this `PLACEMENT`, the same for every process: "+
			job.PlacementSyntax+" (default: the job's)")
}

// load reads the job of a command.
func (f *flags) load() (j job.Job, fingerprint []byte, err error) {
	j = job.AdultIncome()
	if f.file != "" {
		if j, err = job.Load(f.file); err != nil {
			return j, nil, err
		}
	}
	if f.faults != "" {
		if j.Faults, err = fault.Parse(f.faults); err != nil {
			return j, nil, cli.UsageError("see --help", "--faults: %v", err)
		}
	}
	if err := j.CheckProcesses(); err != nil {
		return j, nil, cli.UsageError("train in one process, with cmd/train", "%v", err)
	}
	if f.placed != "" {
		if j.Roles.Placement, err = job.ParsePlacement(f.placed); err != nil {
			return j, nil, cli.UsageError("see --help", "--placement: %v", err)
		}
		if _, err = j.Processes(); err != nil {
			return j, nil, cli.UsageError("see --help", "--placement: %v", err)
		}
	}
	if err := j.ValidateModeSettings([]string{j.Training.Mode}); err != nil {
		return j, nil, fmt.Errorf("job %s: %w", j.Name, err)
	}
	fingerprint, err = j.Fingerprint()
	return j, fingerprint, err
}

// open reads the data of a job.
func (p *program) open(j job.Job, f flags) (*datasets.Dataset, error) {
	data, err := datasets.Open(j.Data, job.DataFolder(p.dataDir, f.file))
	if err == nil {
		cli.PrintNotes(p.stderr, "node", data.Notes)
	}
	return data, err
}

// play plays roles until the run is over.
func (p *program) play(ctx context.Context, roles job.Process, j job.Job, fingerprint []byte, f flags) error {
	run, err := hex.DecodeString(f.run)
	if err != nil || len(run) != 0 && len(run) != 16 {
		return cli.UsageError("give the id that the host prints", "--run %q is not the id of a run", f.run)
	}
	var data []byte
	if roles.Has(msg.Address{Role: msg.DataLoader}) {
		if data, err = datasets.Fingerprint(j.Data, job.DataFolder(p.dataDir, f.file)); err != nil {
			return err
		}
	}
	products, err := blas.FromEnvironment(p.stderr)
	if err != nil {
		return err
	}
	own, err := p.identity(f, roles)
	if err != nil {
		return err
	}
	recorder, finish, err := f.recorder(j)
	if err != nil {
		return err
	}
	modules := torch.FromEnvironment(p.stderr)
	defer modules.Close()
	defer context.AfterFunc(ctx, modules.Close)() // a module that hangs must not keep the process
	machine := backend.Backend{Products: products, Torch: modules.HostEngine,
		Note: func(line string) { fmt.Fprintf(p.stderr, "node: %s\n", line) }}
	var gpus *gpuhealth.Watch
	if slices.ContainsFunc(roles, func(at msg.Address) bool { return at.Role == msg.NNWorker }) {
		machine.Torch = modules.Engine
		used, err := engine.Attach(&machine, &j)
		if err != nil {
			return err
		}
		gpus = p.watchGPUs(used)
	}
	err = p.playParts(ctx, process.Config{
		Process: roles, Listen: f.listen, Host: f.host, JoinTimeout: f.wait, Run: run,
		Fingerprint: fingerprint, Data: data, Job: j,
		Backend: machine, Recorder: recorder, Asked: p.interrupt.Begin(),
		HostReturn: f.hostReturn > 0 && recorder == nil, Identity: own,
		Log: func(line string) { fmt.Fprintf(p.stderr, "node: %s\n", line) },
		Open: sync.OnceValues(func() (batch.Source, error) {
			data, err := p.open(j, f)
			if err != nil {
				return nil, err
			}
			return datasets.TrainingSource(data, &j)
		}),
	}, f, gpus)
	return cmp.Or(err, finish())
}

// playParts plays roles in every part of a run: a host that saves the model on the way divides it, and so do
// the losses of processes.
func (p *program) playParts(ctx context.Context, c process.Config, f flags,
	gpus *gpuhealth.Watch) (err error) {
	var rows atomic.Pointer[memory.Arena]
	rows.Store(new(memory.Arena))
	if c.Process.HoldsModel() { // memory that is not touched is not used
		var buffer memory.Arena
		if c.Buffer, err = buffer.Slab(int(f.buffer)); err != nil {
			return &cli.Error{Err: fmt.Errorf("--checkpoint-buffer: there is no memory for %v", f.buffer),
				Hint: "choose a smaller one: training waits where it is too small"}
		}
	}
	var refused metrics.Refused
	c.Refused = refused.Count
	observer, server, err := p.serveRoles(f.metrics, c.Process, rows.Load, gpus, &c.Backend, &refused)
	if err != nil {
		return err
	}
	c.Observer, c.Started = observer, server.SetReady
	c.Arena = func() (table.Arena, error) {
		fresh := new(memory.Arena)
		return fresh, rows.Swap(fresh).Close()
	}
	var kept process.Kept
	for {
		server.SetNotReady("waiting for the host and the other processes")
		err := process.Run(ctx, c, &kept)
		switch {
		case !errors.Is(err, process.ErrContinues):
			return err // the rows are freed with the process
		case c.Recorder != nil:
			return errors.New("the run goes on in another part, and a recording is of a whole run; leave " +
				"out --record, or --checkpoint-every of the host")
		}
		c.Run, c.JoinTimeout = nil, max(f.wait, f.hostReturn) // every part has an id of its own
	}
}

// recorder returns what keeps a recording, if one is asked for.
func (f *flags) recorder(j job.Job) (driver.Recorder, func() error, error) {
	if f.record == "" {
		return nil, func() error { return nil }, nil
	}
	text, err := yaml.Marshal(j.Resolved())
	if err != nil {
		return nil, nil, err
	}
	folder, err := record.Create(f.record, text)
	if err != nil {
		return nil, nil, err
	}
	folder.Through = true
	return folder, folder.Close, nil
}
