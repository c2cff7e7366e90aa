package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tandem/algo/job"
	"tandem/algo/unit"
	"tandem/internal/cli"
	"tandem/runtime/cuda"
	"tandem/runtime/cuda/calibrate"
	"tandem/sim/device"
	"tandem/sim/preset"
)

const calibrateUsage = `Measure a GPU, or fit system software to measured steps, and write the profile.

Without --step and --from it measures a GPU: matrix products by size and type,
streams through the memory of the GPU, reads of rows at random places, copies
from and to the host, and launches, in half a minute. The GPU should do nothing
else meanwhile. Peaks that the driver does not tell are those of the built-in
profile of the same GPU, or of --like; if there is none, the best rates that
were measured.

The profile goes to stdout or to --out; a table of what was measured, beside
the predictions of the other profile, goes to stderr. docs/gpu.md says what the
GPU needs.

With --step it calibrates system software to training steps that you have
measured. A step names the GPUs and, where they are not those of the cluster's
profile, batch, precision and mode; servers follow from the preset. A time in
us, ms or s is that of a step; a rate in samples/s, k samples/s or M samples/s
is that of all GPUs:

  "8 A100, batch 65536: 6.1 ms"
  "16 A100, batch 4096 a GPU, half: 5.2 M samples/s"

With --from it takes the throughput of a training by cmd/train or cmd/node, in
every mode that has roles. The training ran on the cluster that the job file
names, or that of --preset. Or it takes six sizes of a table of nccl-tests, of
all_reduce_perf, alltoall_perf, reduce_scatter_perf or all_gather_perf, which
calibrate the system's collectives.

The ranges of the system's quantities are narrowed to what explains all steps,
jointly with those of the hardware, which are not kept. The tables, on stderr,
show what was narrowed, which quantities the steps cannot tell apart, and each
step with its prediction before and after. A prediction with --system and the
written file uses it. Nothing is written if no values explain a step, or if
steps contradict each other.`

const calibrateExamples = `  go run ./cmd/sim calibrate --device cuda:0 --out my-gpu.yaml
  go run ./cmd/sim run --accelerator ./my-gpu.yaml
  go run ./cmd/sim calibrate --like A100-SXM4-80GB --json
  go run ./cmd/sim calibrate --model criteo --out my-system.yaml \
      --step "8 H100, batch 4096, half: 1.1 ms"
  go run ./cmd/sim run --preset dgx-h100 --model criteo \
      --system ./my-system.yaml`

// calibration is what the flags of calibrate ask for.
type calibration struct {
	device, out, hostLink, name, like, memory string
	seconds                                   float64
	json                                      bool
}

func (p *program) calibrateCommand() *cobra.Command {
	k, t := &calibration{}, &fitting{}
	c := &cobra.Command{
		Use: "calibrate", Short: "Measure a GPU, or fit system software to measured steps",
		Long: calibrateUsage, Example: calibrateExamples, Args: cli.NoArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			if c.Flags().Changed("step") || c.Flags().Changed("from") {
				return advise(p.fit(c, t, k))
			}
			for _, flag := range append(slices.Clone(sharedFlags), "sigma", "points", "file") {
				if c.Flags().Changed(flag) {
					return cli.UsageError("add --step, or leave it out", "--%s has no effect without --step "+
						"or --from", flag)
				}
			}
			return adviseCalibrate(p.calibrate(k))
		},
	}
	fs := c.Flags()
	fs.SortFlags = false
	fs.StringVar(&k.device, "device", "cuda:0", "measure this `GPU`")
	fs.StringVar(&k.out, "out", "", "write the profile to this new `FILE` (default: print it)")
	fs.StringVar(&k.hostLink, "host-link", "", "write the copies between host and GPU as the profile of a "+
		"wire to this new `FILE`, which the profile of the GPU names by this path (default: name the "+
		"built-in PCIe profile with the nearest rate)")
	fs.StringVar(&k.name, "name", "", "give the profile this `NAME` (default: that of the GPU or, for "+
		"system software, of the file of --out)")
	fs.StringVar(&k.like, "like", "", "take peaks, price and wires that cannot be measured from this "+
		"`PROFILE`, and compare with it (default: the built-in profile of the same GPU, if there is one)")
	fs.Float64Var(&k.seconds, "seconds", 30, "measure for about this many `SECONDS`, of which each size "+
		"takes its part; sizes that take longer are left out")
	fs.StringVar(&k.memory, "memory", "", "use this `SIZE` of the memory of the GPU, as in 1GB "+
		"(default: a quarter of what is free, at most 4 GiB)")
	fs.BoolVar(&k.json, "json", false, "print what was measured or fitted as one JSON object instead of the "+
		"profile")
	t.register(fs)
	return c
}

// adviseCalibrate adds a hint to an error of calibrate.
func adviseCalibrate(err error) error {
	var has *cli.Error
	if err == nil || errors.As(err, &has) {
		return err
	}
	hint := "see go run ./cmd/sim calibrate --help, and docs/gpu.md for what a GPU needs"
	switch {
	case errors.Is(err, cuda.ErrNoDriver):
		hint = "run it on the machine with the GPU; there, nvidia-smi shows whether the driver works"
	case errors.Is(err, cuda.ErrNotBuilt):
		hint = "go build ./cmd/sim, without -tags static"
	case errors.Is(err, preset.ErrUnknown):
		hint = profileHint
	case errors.Is(err, cuda.ErrOutOfMemory):
		hint = "take less by --memory, or end what else uses the GPU"
	}
	return &cli.Error{Err: err, Hint: hint}
}

// ordinal returns the number of the GPU that a flag names.
func (k *calibration) ordinal() (int, error) {
	d, err := job.ParseDevice(k.device)
	if err != nil || len(d.Ordinals) != 1 {
		return 0, cli.UsageError("nvidia-smi -L lists the GPUs", "--device: %q; want one GPU, as in cuda:0",
			k.device)
	}
	return d.Ordinals[0], nil
}

// settings checks the flags and returns those of the measurement.
func (k *calibration) settings() (s calibrate.Settings, err error) {
	if !(k.seconds > 0 && k.seconds <= 3600) {
		return s, cli.UsageError("see --help", "--seconds: %v; want more than 0 and at most 3600", k.seconds)
	}
	s.Budget = time.Duration(k.seconds * float64(time.Second))
	if k.memory != "" {
		if s.Memory, err = unit.ParseBytes(k.memory); err != nil || s.Memory < calibrate.MemoryMin {
			return s, cli.UsageError("see --help", "--memory: %q; want a size of at least %v, as in 1GB",
				k.memory, calibrate.MemoryMin)
		}
	}
	return s, nil
}

// calibrate measures a GPU and writes its profile.
func (p *program) calibrate(k *calibration) error {
	ordinal, err := k.ordinal()
	if err != nil {
		return err
	}
	s, err := k.settings()
	if err != nil {
		return err
	}
	for _, file := range [][2]string{{"--out", k.out}, {"--host-link", k.hostLink}} {
		if err := free(file[0], file[1]); err != nil { // before the measurement
			return err
		}
	}
	if k.out != "" && filepath.Clean(k.out) == filepath.Clean(k.hostLink) {
		return cli.UsageError("give each a name of its own", "--out and --host-link are both %s", k.out)
	}
	if k.like != "" {
		if _, err := device.LoadAccelerator(k.like); err != nil {
			return fmt.Errorf("--like: %w", err)
		}
	}
	driver, err := cuda.Open(cuda.Libraries{})
	if err != nil {
		return err
	}
	bar := cli.NewProgress(p.stderr, p.terminal)
	defer bar.Close()
	s.Progress = bar.Show
	result, err := calibrate.Measure(driver, ordinal, s)
	bar.Close()
	if err != nil {
		return err
	}
	return p.writeCalibration(k, result)
}

// writeCalibration writes what was measured as the flags ask.
func (p *program) writeCalibration(k *calibration, r *calibrate.Result) error {
	name := cmp.Or(k.like, device.AcceleratorOf(r.Device.Name))
	var like *device.AcceleratorProfile
	if name != "" {
		var err error
		if like, err = device.LoadAccelerator(name); err != nil {
			return err
		}
	}
	m := measuredAccelerator(r, time.Now())
	m.Name = cmp.Or(k.name, strings.ReplaceAll(r.Device.Name, " ", "-"))
	profile, err := m.Profile(like)
	if err != nil {
		return err
	}
	wire, err := nearestWire(r)
	if err != nil {
		return err
	}
	profile.HostLink = wire.Name
	if k.hostLink != "" {
		if err := writeLink(k.hostLink, m); err != nil {
			return err
		}
		profile.HostLink = asFile(k.hostLink)
	}
	profile.Inside = cmp.Or(profile.Inside, profile.HostLink)
	if err := comparison(r, like, wire).WriteText(p.stderr); err != nil {
		return err
	}
	text := profile.Text(fmt.Sprintf("%s, measured in %.1f s. Ranges are the quartiles of repetitions.",
		r.Device.Name, r.MeasuringTime.Seconds()))
	return p.writeProfile(k, "--accelerator", text, documentOf(r))
}

// writeProfile writes the text of a profile to the file of --out or to stdout, where --json has a document in
// its place. A note says how predictions take the file, by flags.
func (p *program) writeProfile(k *calibration, flag, text string, document any) error {
	if k.out != "" {
		if err := writeNew(k.out, text); err != nil {
			return err
		}
		cli.PrintNotes(p.stderr, "sim", []string{fmt.Sprintf(
			"the profile is in %s: go run ./cmd/sim run %s %s", k.out, flag, asFile(k.out))})
	}
	if k.json {
		return printJSON(p.stdout, document)
	}
	if k.out != "" {
		return nil
	}
	_, err := io.WriteString(p.stdout, text)
	return err
}

// asFile returns the name of a file as the flags for profiles take it.
func asFile(name string) string {
	if preset.IsFile(name) {
		return name
	}
	return "./" + name
}

// writeLink writes the profile of the wire between the host and a GPU.
func writeLink(name string, m *device.MeasuredAccelerator) error {
	wire, err := m.HostLink(m.Name + "-host-link")
	if err != nil {
		return err
	}
	return writeNew(name, wire.Text("Copies between the host and "+m.Name+". Ranges are the quartiles of "+
		"repetitions."))
}

// free returns an error if the file of a flag exists, or could not be made.
func free(flag, name string) error {
	if name == "" {
		return nil
	}
	if _, err := os.Lstat(name); err == nil {
		return &cli.Error{Err: fmt.Errorf("%s: %s exists", flag, name),
			Hint: "remove it, or choose another name"}
	}
	folder := filepath.Dir(name)
	file, err := os.CreateTemp(folder, ".profile-")
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &cli.Error{Err: fmt.Errorf("%s: there is no folder %s", flag, folder), Hint: "make it first"}
	case err != nil:
		return &cli.Error{Err: fmt.Errorf("%s: cannot write to %s: %w", flag, folder, errors.Unwrap(err)),
			Hint: "choose another folder"}
	}
	return errors.Join(file.Close(), os.Remove(file.Name()))
}

// writeNew writes a new file, complete or not at all.
func writeNew(name, text string) error {
	file, err := os.CreateTemp(filepath.Dir(name), ".profile-")
	if err != nil {
		return err
	}
	defer os.Remove(file.Name()) // no longer there if all went well
	_, err = io.WriteString(file, text)
	if err := errors.Join(err, file.Chmod(0o644), file.Close()); err != nil {
		return err
	}
	return os.Rename(file.Name(), name)
}
