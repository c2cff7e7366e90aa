package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tandem/algo/job"
	"tandem/algo/unit"
	"tandem/internal/cli"
	"tandem/internal/htmlreport"
	"tandem/sim/graph"
	"tandem/sim/predict"
	"tandem/sim/timeline"
)

const explainUsage = `Say why a prediction is what it is: the stages and waits of a step.

The first table cuts the time from one step to the next on a rank: what it
waits for, and what it does. The second follows a batch through the roles: how
long each piece of work waits for its turn and takes, and how long the messages
between them are under way; means over all ranks and measured steps. Stages of
different batches overlap, so their sum is not the time of a step. Systems with
the tables on the accelerators have the parts of a step, alone and as they run
beside others, and how much of each is on the critical path.

--gantt FILE.svg draws some steps of one rank and of the roles that serve it: a
colour is a batch. --report FILE.html has the figure and the tables. --effects
says what to measure first. sim trace has every station of every rank.
` + common

const explainExamples = `  go run ./cmd/sim explain
  go run ./cmd/sim explain --preset dgx-h100 --gpus 64 --gantt step.svg
  go run ./cmd/sim explain --mode sync --gpus 16 --effects --report why.html`

// explained is a prediction with what its stations did.
type explained struct {
	request *request
	*predict.Prediction
	line    *timeline.Timeline
	effects []predict.Effect
	start   time.Time
}

// explainCommand returns the command that says why.
func (p *program) explainCommand() *cobra.Command {
	f := &flags{kind: explaining}
	c := &cobra.Command{
		Use: "explain", Short: "Say why: the stages and waits of a step",
		Long: explainUsage + "\n\n" + job.ModeSettingsHelp(), Example: explainExamples,
		Args: cli.NoArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			x := &explained{start: time.Now()}
			q, err := p.request(c, f)
			if err == nil {
				x.request = q
				err = p.explain(x)
			}
			return advise(err)
		},
	}
	f.register(c.Flags())
	return c
}

// explain simulates and reports.
func (p *program) explain(x *explained) (err error) {
	q := x.request
	if err := q.checkPage(); err != nil {
		return err
	}
	if err := checkNewFile("--gantt", q.gantt); err != nil {
		return err
	}
	if x.Prediction, x.line, err = q.record(p); err != nil {
		return err
	}
	if q.effects {
		progress := cli.NewProgress(p.stderr, p.terminal)
		o := q.predictions()
		o.Done = func(done, all int) { progress.Show(done, all, "effects") }
		x.effects, err = predict.Effects(context.Background(), q.question(q.modes[0], q.gpus[0]), o)
		progress.Close()
		if err != nil {
			return err
		}
	}
	figure := x.figure()
	if q.gantt != "" {
		if err := htmlreport.WriteFigure(q.gantt, figure.Title, figure.SVG(), nil); err != nil {
			return err
		}
	}
	if q.json {
		return printJSON(p.stdout, x.document())
	}
	var text bytes.Buffer
	x.writeText(&text)
	if _, err := p.stdout.Write(text.Bytes()); err != nil {
		return err
	}
	q.shown = []prediction{{mode: q.modes[0], gpus: q.gpus[0], answer: answerOf(x.Prediction),
		whole: x.Prediction}}
	return q.writePage(text.String(), htmlreport.Section{Title: "A few steps of one rank",
		Gantts: []htmlreport.Gantt{figure}})
}

// writeText writes the explanation for a reader.
func (x *explained) writeText(w io.Writer) {
	q, r := x.request, &x.Mid
	j := q.question(q.modes[0], q.gpus[0])
	cli.Paragraph(w, fmt.Sprintf("%s, %s on %s: %s.", j.Name, q.modes[0], q.units(q.gpus[0]), q.where()),
		"  ")
	cli.Paragraph(w, fmt.Sprintf("A step of %d samples takes %s ms, which is %s samples/s.",
		j.Training.GlobalBatch, digits(*ms(r.StepTime)), rate(r.Throughput)), "  ")
	fmt.Fprintln(w)
	if r.Graph != nil {
		x.writeParts(w)
	} else {
		x.writePhases(w)
		fmt.Fprintln(w)
		x.writeWay(w)
	}
	writeStations(w, r)
	fmt.Fprintln(w)
	cli.Paragraph(w, x.verdict(), "  ")
	if len(x.effects) > 0 {
		cli.Paragraph(w, effectWords(x.effects), "  ")
	}
	fmt.Fprintf(w, "\nTo repeat: %s\n", q.command)
}

// writePhases writes the parts of the time of a step on a rank.
func (x *explained) writePhases(w io.Writer) {
	sum := unit.Tick(0)
	for _, p := range x.Mid.Roles.Phases {
		sum += p.Time
	}
	fmt.Fprintf(w, "%-46s %9s %7s\n", "A step of a rank", "ms", "share")
	for _, p := range x.Mid.Roles.Phases {
		if p.Time > 0 {
			fmt.Fprintf(w, "  %-44s %9s %5.0f %%\n", p.Name, digits(*ms(p.Time)),
				100*p.Time.Seconds()/sum.Seconds())
		}
	}
}

// wayStage is a piece of work, or a message, in the order in which a batch meets them.
type wayStage struct {
	name  string // of its spans or arrows
	words string
	by    string // who does it; empty for messages
}

// way is the way of a batch.
var way = []wayStage{
	{"read", "read the samples", "data loader"},
	{"IDFeatures", "ids to the embedding worker", ""},
	{"Samples", "numbers and labels to the rank", ""},
	{"split", "ids by PS", "embedding worker"},
	{"Lookup", "look-ups to the PSs", ""},
	{"read-rows", "look rows up", "embedding PS"},
	{"Rows", "rows to the embedding worker", ""},
	{"pool", "pool rows", "embedding worker"},
	{"Embeddings", "embeddings to the rank", ""},
	{"Params", "parameters to the rank", ""},
	{"forward", "forward (FC)", "rank"},
	{"backward", "backward (BC)", "rank"},
	{allBuckets, "sum all buckets (DS)", "all-reduce"},
	{"dense-apply", "dense optimizer", "rank"},
	{"Push", "gradients to the dense PSs", ""},
	{"apply-push", "update parameters", "dense PS"},
	{"read-dense", "copy parameters", "dense PS"},
	{"snapshot", "copy the replica", "rank"},
	{"average", "take the mean of replicas", "rank"},
	{"PutGradients", "gradients to the embedding worker", ""},
	{"merge", "sum gradients by row", "embedding worker"},
	{"Put", "gradients to the PSs", ""},
	{"apply", "update rows", "embedding PS"},
	{"apply-step", "update rows", "embedding PS"},
}

// allBuckets begins the names of the spans of an all-reduce, one for each bucket of a step.
const allBuckets = "bucket "

// has reports whether a span is of the stage, and whether it is the only one or the first of its batch.
func (x *wayStage) has(s *timeline.Span) (has, first bool) {
	if x.name == allBuckets {
		return strings.HasPrefix(s.Name, allBuckets), s.Name == allBuckets+"0"
	}
	return s.Name == x.name, s.Name == x.name
}

// means are the mean times of one stage of the way of a batch, in ms.
type means struct {
	wayStage
	waits, takes float64
}

// means returns the stages that the timeline has. A stage counts where it begins between the instants of the
// timeline.
func (x *explained) means() (list []means) {
	for _, stage := range way {
		m, count := means{wayStage: stage}, 0.0
		for k := range x.line.Tracks {
			track := &x.line.Tracks[k]
			for i := range track.Spans {
				s := &track.Spans[i]
				if has, first := stage.has(s); has && isWork(track) && x.line.Begins(s) {
					m.waits += *ms(s.Start - s.Ready)
					m.takes += *ms(s.End - s.Start)
					if first {
						count++
					}
				}
			}
		}
		for i := range x.line.Arrows {
			if a := &x.line.Arrows[i]; a.Name == stage.name && stage.by == "" {
				m.takes += *ms(a.Arrived - a.Sent)
				count++
			}
		}
		if count > 0 {
			m.waits, m.takes = m.waits/count, m.takes/count
			list = append(list, m)
		}
	}
	return list
}

// isWork reports whether the spans of a track are the work of a role, rather than of one of its devices.
func isWork(t *timeline.Track) bool {
	return t.Name == "work" || t.Name == "pool and merge" || t.Name == "channel"
}

// writeWay writes how long a batch waits and takes at every stage.
func (x *explained) writeWay(w io.Writer) {
	fmt.Fprintf(w, "%-46s %9s %9s\n", "The way of a batch, in ms", "waits", "takes")
	for _, m := range x.means() {
		what, waits := m.words, ""
		if m.by != "" {
			what, waits = what+": "+m.by, digits(m.waits)
		} else {
			what = "  " + what
		}
		fmt.Fprintf(w, "  %-44s %9s %9s\n", what, waits, digits(m.takes))
	}
}

// parts returns how long every part of a step graph ran, in ms a step.
func (x *explained) parts() map[string]float64 {
	part := map[string]string{}
	for _, n := range x.Mid.Graph.Step.Nodes {
		part[n.Name] = n.Part
		part["launch "+n.Name] = graph.PartHost
	}
	ran := map[string]float64{}
	steps := float64(len(x.Mid.Graph.Steps))
	for k := range x.line.Tracks {
		for i := range x.line.Tracks[k].Spans {
			s := &x.line.Tracks[k].Spans[i]
			start, end := x.line.Clip(s)
			ran[part[s.Name]] += *ms(end - start) / steps
		}
	}
	return ran
}

// writeParts writes the parts of a step graph.
func (x *explained) writeParts(w io.Writer) {
	ran := x.parts()
	fmt.Fprintf(w, "%-34s %9s %9s %9s %7s\n", "Parts of a step, in ms", "alone", "runs", "critical", "share")
	for _, p := range x.Mid.Graph.Parts {
		if p.Time > 0 || p.Critical > 0 {
			fmt.Fprintf(w, "  %-32s %9s %9s %9s %5.0f %%\n", p.Name, digits(*ms(p.Time)),
				digits(ran[p.Name]), digits(*ms(p.Critical)),
				100*p.Critical.Seconds()/x.Mid.StepTime.Seconds())
		}
	}
	fmt.Fprintf(w, "\nFor %s ms of a step a collective runs and no kernel.\n",
		digits(*ms(x.Mid.Graph.Exposed)))
}

// verdict says what bounds the step.
func (x *explained) verdict() string {
	var words []string
	for _, b := range x.Mid.Bottlenecks[:min(3, len(x.Mid.Bottlenecks))] {
		words = append(words, b.String())
	}
	return "Of the critical path: " + strings.Join(words, ", ") + ". A resource that is twice as good " +
		"shortens a step by about half of its share."
}

// explanation is the JSON object of an explanation. Times are in ms.
type explanation struct {
	Job         string               `json:"job"`
	Mode        string               `json:"mode"`
	GPUs        int                  `json:"gpus"`
	Step        float64              `json:"step_ms"`
	Throughput  float64              `json:"throughput_samples_per_s"`
	Phases      []stageDocument      `json:"phases"` // of a step on a rank, or parts of a step graph
	Way         []stageDocument      `json:"batch"`
	Bottlenecks []predict.Bottleneck `json:"bottlenecks"`
	Effects     []predict.Effect     `json:"effects"`
	WallSeconds float64              `json:"wall_s"`
	Reproduce   string               `json:"reproduce"`
}

// stageDocument is one line of a table.
type stageDocument struct {
	Name  string   `json:"name"`
	By    string   `json:"by,omitempty"`
	Waits *float64 `json:"waits_ms,omitempty"`
	Takes float64  `json:"takes_ms"`
}

// document returns the explanation as a JSON object.
func (x *explained) document() *explanation {
	q := x.request
	d := &explanation{Job: q.job.Name, Mode: q.modes[0], GPUs: q.gpus[0], Step: *ms(x.Mid.StepTime),
		Throughput: x.Mid.Throughput, Phases: []stageDocument{}, Way: []stageDocument{},
		Bottlenecks: x.Mid.Bottlenecks, Effects: append([]predict.Effect{}, x.effects...),
		Reproduce: q.command}
	if g := x.Mid.Graph; g != nil {
		for _, p := range g.Parts {
			d.Phases = append(d.Phases, stageDocument{Name: p.Name, Takes: *ms(p.Critical)})
		}
	} else {
		for _, p := range x.Mid.Roles.Phases {
			d.Phases = append(d.Phases, stageDocument{Name: p.Name, Takes: *ms(p.Time)})
		}
		for _, m := range x.means() {
			one := stageDocument{Name: m.words, By: m.by, Takes: m.takes}
			if m.by != "" {
				one.Waits = &m.waits
			}
			d.Way = append(d.Way, one)
		}
	}
	d.WallSeconds = time.Since(x.start).Seconds()
	return d
}

// stepsDrawn is the number of steps of a figure.
const stepsDrawn = 3

// figure draws some steps of the first rank, and what the roles do that serve it.
func (x *explained) figure() htmlreport.Gantt {
	q := x.request
	from := x.line.From
	to := min(x.line.To, from+stepsDrawn*x.Mid.StepTime)
	at := func(t unit.Tick) float64 { return *ms(t - from) }
	g := htmlreport.Gantt{X: "ms", High: at(to), Title: fmt.Sprintf("%s, %s on %s: a colour is a batch of "+
		"the first rank", q.job.Name, q.modes[0], q.units(q.gpus[0]))}
	if x.Mid.Graph != nil {
		g.Title = fmt.Sprintf("%s on %s: a colour is a batch", q.job.Name, q.units(q.gpus[0]))
	}
	for _, k := range x.drawn(to) {
		track := &x.line.Tracks[k]
		row := htmlreport.GanttRow{Name: track.Group + ", " + track.Name}
		if x.Mid.Graph != nil {
			row.Name = track.Name
		}
		for i := range track.Spans {
			s := &track.Spans[i]
			start, end := x.line.Clip(s)
			if start >= to {
				continue
			}
			bar := htmlreport.GanttBar{From: at(start), To: at(end), Name: s.Name, Colour: -1,
				Note: fmt.Sprintf("%s, step %d: %s ms", s.Name, s.Batch.Step, digits(at(end)-at(start)))}
			if ofFirst(s) {
				bar.Colour = int(s.Batch.Step) % 8
			}
			row.Bars = append(row.Bars, bar)
		}
		slices.SortStableFunc(row.Bars, func(a, b htmlreport.GanttBar) int { return a.Colour - b.Colour })
		g.Rows = append(g.Rows, row)
	}
	return g
}

// ofFirst reports whether work is on a batch of the first rank, or of all ranks.
func ofFirst(s *timeline.Span) bool { return s.Batch.Rank <= 0 }

// drawn returns the tracks that work on batches of the first rank before an instant, of PSs only the first
// one: all are alike.
func (x *explained) drawn(to unit.Tick) (tracks []int) {
	seen := map[string]string{} // the group that is drawn of each kind of role
	for k := range x.line.Tracks {
		track := &x.line.Tracks[k]
		serves := func(s timeline.Span) bool { return ofFirst(&s) && s.Start < to }
		if !slices.ContainsFunc(track.Spans, serves) {
			continue
		}
		kind, _, _ := strings.Cut(track.Group, " ")
		if seen[kind] == "" {
			seen[kind] = track.Group
		}
		if seen[kind] == track.Group {
			tracks = append(tracks, k)
		}
	}
	return tracks
}
