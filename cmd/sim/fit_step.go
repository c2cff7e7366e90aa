package main

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"tandem/algo/job"
	"tandem/internal/cli"
	"tandem/sim/cost"
	"tandem/sim/device"
)

// stepText is what --step says of a measured step.
type stepText struct {
	gpus            int
	accelerator     string // as the user calls it; empty: GPUs of the cluster
	batch           int    // of all GPUs, or of one; 0: the model's
	perGPU          bool
	precision, mode string
	seconds         float64 // of a step; 0 if a rate is given
	rate            float64 // samples a second
}

const stepHint = `write it as "8 A100, batch 65536, tf32: 6.1 ms": GPUs, then a batch, a precision or a ` +
	`mode if they are not the model's, and the time of a step or its samples/s`

var (
	gpusPattern  = regexp.MustCompile(`^([0-9]+) ?x? ?([A-Za-z][A-Za-z0-9-]*)$`)
	batchPattern = regexp.MustCompile(`^(?:global )?batch ([0-9]+)( (?:a|per) GPU)?$`)
	timePattern  = regexp.MustCompile(`^([0-9.]+(?:e[-+]?[0-9]+)?) ?(us|µs|ms|s|(?:[kM] )?samples/s)$`)
)

// unitsOfTime are the units of a measured time or rate.
var unitsOfTime = map[string]float64{"us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1, "samples/s": 1,
	"k samples/s": 1e3, "M samples/s": 1e6}

// parseStep reads the text of a --step.
func parseStep(text string) (s stepText, err error) {
	bad := func(format string, args ...any) (stepText, error) {
		return s, cli.UsageError(stepHint, "--step: %q: %s", text, fmt.Sprintf(format, args...))
	}
	colon := strings.LastIndex(text, ":")
	if colon < 0 {
		return bad("no colon before the time")
	}
	found := timePattern.FindStringSubmatch(strings.TrimSpace(text[colon+1:]))
	if found == nil {
		return bad("%q is not a time in us, ms or s, nor samples/s", strings.TrimSpace(text[colon+1:]))
	}
	value, err := strconv.ParseFloat(found[1], 64)
	if value *= unitsOfTime[found[2]]; err != nil || !(value > 0) {
		return bad("%s is not above 0", found[1])
	}
	if strings.HasSuffix(found[2], "samples/s") {
		s.rate = value
	} else {
		s.seconds = value
	}
	for _, word := range strings.Split(text[:colon], ",") {
		word = strings.TrimSpace(word)
		if !s.read(word) {
			return bad("%q is neither GPUs, as 8 A100, nor a batch, a precision or a mode", word)
		}
	}
	if s.gpus < 1 {
		return bad("no number of GPUs")
	}
	return s, nil
}

// read reads one of the words before the colon.
func (s *stepText) read(word string) bool {
	if found := batchPattern.FindStringSubmatch(word); found != nil && s.batch == 0 {
		n, err := strconv.Atoi(found[1])
		s.batch, s.perGPU = n, found[2] != ""
		return err == nil && n > 0
	}
	if word == "fp16" || word == "bf16" {
		word = job.PrecisionHalf
	}
	switch found := gpusPattern.FindStringSubmatch(word); {
	case slices.Contains(job.Precisions(), word) && s.precision == "":
		s.precision = word
	case slices.Contains(job.Modes(), word) && s.mode == "":
		s.mode = word
	case found != nil && s.gpus == 0:
		n, err := strconv.Atoi(found[1])
		s.gpus, s.accelerator = n, found[2]
		if name := strings.ToUpper(found[2]); name == "GPU" || name == "GPUS" {
			s.accelerator = ""
		}
		return err == nil && n > 0
	default:
		return false
	}
	return true
}

// isOf reports whether a profile is of the accelerator that a user calls by a name, such as A100.
func isOf(profile, name string) bool {
	return len(profile) >= len(name) && strings.EqualFold(profile[:len(name)], name) &&
		(len(profile) == len(name) || profile[len(name)] == '-')
}

// flagsOf returns the flags of "sim run" that predict the step, without those that the user gives. A preset
// is added if the user gives neither a preset nor an accelerator: the first with the accelerator of the
// step.
func (s *stepText) flagsOf(f *flags, given func(string) bool) (args []string, err error) {
	args = []string{"--gpus", strconv.Itoa(s.gpus)}
	if s.batch > 0 {
		flag := "--global-batch"
		if s.perGPU {
			flag = "--batch-per-gpu"
		}
		args = append(args, flag, strconv.Itoa(s.batch))
	}
	if s.precision != "" {
		args = append(args, "--precision", s.precision)
	}
	if s.mode != "" {
		args = append(args, "--mode", s.mode)
	}
	if s.accelerator == "" {
		return args, nil
	}
	if given("accelerator") {
		if !isOf(f.accelerator, s.accelerator) {
			return nil, cli.UsageError("leave one out", "--accelerator %s, but --step has %s", f.accelerator,
				s.accelerator)
		}
		return args, nil
	}
	presets := cost.Clusters.Names()
	if given("preset") {
		presets = []string{f.preset}
	}
	for _, name := range presets {
		section, err := job.LoadCluster(name)
		if err != nil {
			return nil, err
		}
		if isOf(section.Accelerator, s.accelerator) {
			if !given("preset") {
				args = append(args, "--preset", name)
			}
			return args, nil
		}
	}
	var like []string
	for _, name := range device.Accelerators.Names() {
		if isOf(name, s.accelerator) {
			like = append(like, name)
		}
	}
	switch len(like) {
	case 0:
		return nil, unknown("--step", s.accelerator, device.Accelerators.Names())
	case 1:
		return append(args, "--accelerator", like[0]), nil
	}
	return nil, cli.UsageError("name one of them", "--step: %s may be %s", s.accelerator,
		strings.Join(like, ", "))
}
