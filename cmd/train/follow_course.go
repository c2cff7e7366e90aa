package main

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"tandem/algo/exec/evaluation"
	"tandem/algo/job"
	"tandem/datasets"
	"tandem/internal/cli"
	"tandem/internal/htmlreport"
	"tandem/runtime/train"
)

// progressName is the file within the results that has every block of rows that was predicted.
const progressName = "progress.csv"

// course is what a training on rows that arrive has shown so far: in progress.csv, on the page of the
// results, and in lines.
type course struct {
	p        *program
	job      job.Job
	stream   *datasets.Stream
	folder   string // of the results
	settings []byte
	waits    *waits
	earlier  string // progress.csv of the training that continues; empty: none

	out    *os.File
	size   int64     // of out
	failed error     // why a line or the page could not be written first
	labels []spans   // by label
	before int       // rows that were trained before this run
	unsaid span      // of the first label, since the last line
	shown  time.Time // when that was
	step   int       // trained
	at     time.Time // when it was
	drawn  time.Time // when the page was
}

// newCourse returns the course of a training whose results are in a folder.
func (p *program) newCourse(j job.Job, f flags, results string, w *waits) (*course, error) {
	settings, err := p.written(j, f)
	if err != nil {
		return nil, err
	}
	c := &course{p: p, job: j, stream: f.stream, folder: results, settings: settings, waits: w,
		labels: make([]spans, len(f.opened.Schema.Labels))}
	if begin := f.checkpoints.begin; begin != nil {
		before, err := resultsOf(begin.Folder())
		if err != nil {
			return nil, err
		}
		c.earlier = filepath.Join(before, progressName)
	}
	c.out, err = os.Create(filepath.Join(results, progressName))
	return c, err
}

// header returns the columns of progress.csv.
func (c *course) header() []string {
	score, loss := scoreTags(c.job.Model.Loss)
	return []string{"first_step", "file", "at", "after_s", "label", "rows_before", "rows", score, loss,
		"predicted", "observed"}
}

// spanAt is the place of the first field of a span.
const spanAt = 5

// begin takes over what was predicted before the step at which the training begins.
func (c *course) begin(step int) error {
	c.before = c.stream.SamplesBefore(step)
	if err := c.write(c.header()); err != nil || c.earlier == "" {
		return err
	}
	text, err := os.ReadFile(c.earlier)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	text = text[:bytes.LastIndexByte(text, '\n')+1] // without a last line that was not written to its end
	lines := csv.NewReader(bytes.NewReader(text))
	if header, err := lines.Read(); err != nil || !slices.Equal(header, c.header()) {
		return fmt.Errorf("%s: it has other columns than %s", c.earlier, progressName)
	}
	for {
		line, err := lines.Read()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s: %w", c.earlier, err)
		}
		first, err := strconv.Atoi(line[0])
		if err == nil && first >= step {
			return nil
		}
		label := slices.Index(c.stream.Schema().Labels, line[4])
		s, bad := parseSpan(line[spanAt:])
		if label < 0 {
			bad = fmt.Errorf("the job has no label %q", line[4])
		}
		if err = cmp.Or(err, bad); err != nil {
			return fmt.Errorf("%s: first_step %s: a line that is none of %s: %w", c.earlier, line[0],
				progressName, err)
		}
		c.labels[label].add(s)
		if err := c.write(line); err != nil {
			return err
		}
	}
}

// write writes a line of progress.csv, or nothing of it: others can follow an error, as of a full disk.
func (c *course) write(fields []string) error {
	var line bytes.Buffer
	w := csv.NewWriter(&line)
	if err := w.Write(fields); err != nil {
		return err
	}
	w.Flush() // a buffer takes everything
	if _, err := c.out.WriteAt(line.Bytes(), c.size); err != nil {
		return errors.Join(err, c.out.Truncate(c.size))
	}
	c.size += int64(line.Len())
	return nil
}

// predicted notes a block.
func (c *course) predicted(b train.Block) {
	c.waits.over()
	file, written := c.stream.FileOf(b.First)
	for i := range b.Heads {
		h := &b.Heads[i]
		s := newSpan(c.before+b.Before, b.Rows, h)
		c.labels[i].add(s)
		if i == 0 {
			c.unsaid.add(s)
		}
		line := append([]string{strconv.Itoa(b.First), filepath.Base(file),
			b.At.UTC().Format(time.RFC3339Nano), fmt.Sprintf("%.3f", b.At.Sub(written).Seconds()), h.Label},
			s.fields()...)
		c.note(c.write(line))
	}
}

// trained notes that the model was trained up to a step.
func (c *course) trained(step int) {
	c.step, c.at = step, c.p.now()
	c.show()
}

// waiting notes that there have been no rows for a time.
func (c *course) waiting(since time.Duration) {
	c.waits.waiting(since)
	c.show()
}

// show writes a line and the page, if they are due.
func (c *course) show() {
	now := c.p.now()
	if c.unsaid.rows > 0 && now.Sub(c.shown) >= lineInterval {
		file, written := c.stream.FileOf(c.step - 1)
		gain, loss := evaluation.ScoreNames(c.job.Model.Loss)
		fmt.Fprintf(c.p.stderr, "train: %s: %s of %s; %d in all, the last %.1f s after they were written%s\n",
			filepath.Base(file), c.unsaid.text(gain, loss), plural(c.unsaid.rows, "new row"),
			c.stream.SamplesBefore(c.step), c.at.Sub(written).Seconds(), c.dropped())
		c.unsaid, c.shown = span{}, now
	}
	if now.Sub(c.drawn) >= pageInterval {
		c.note(c.writePage())
		c.drawn = now
	}
}

// note reports the first error of writing a line or the page. Training goes on.
func (c *course) note(err error) {
	if err != nil && c.failed == nil {
		c.failed = err
		fmt.Fprintf(c.p.stderr, "train: %v; training goes on\n", err)
	}
}

// pageInterval is the time after which the page is written again.
const pageInterval = 10 * time.Second

// close writes what remains, and returns why something could not be written.
func (c *course) close() error {
	return errors.Join(c.failed, c.writePage(), c.out.Close())
}

// writePage writes the page.
func (c *course) writePage() error {
	gain, loss := evaluation.ScoreNames(c.job.Model.Loss)
	const rows = "rows since the beginning"
	charts := []htmlreport.Chart{{Title: gain, X: rows, Y: gain}, {Title: loss, X: rows, Y: loss},
		{Title: "Calibration", X: rows, Y: "predicted / observed"}}
	section := htmlreport.Section{Title: "Predicted before they were trained on", Text: []string{
		"Every block of rows, a file unless evaluate-every says otherwise, is predicted when it arrives " +
			"and then trained on. A calibration of 1 says that predictions are right in the mean. " +
			progressName + " has every block."}}
	for i, label := range c.stream.Schema().Labels {
		section.Legend = append(section.Legend, label)
		for k, value := range []func(s *span) float64{func(s *span) float64 { return s.score },
			func(s *span) float64 { return s.loss }, (*span).calibration} {
			series := htmlreport.Series{Name: label}
			for _, s := range c.labels[i] {
				series.Points = append(series.Points, htmlreport.Point{X: float64(s.before + s.rows),
					Y: value(&s), Note: fmt.Sprintf("rows %d to %d: %s", s.before+1, s.before+s.rows,
						s.text(gain, loss))})
			}
			charts[k].Series = append(charts[k].Series, series)
		}
	}
	section.Charts = charts
	page := htmlreport.Page{
		Title: "Online training " + c.job.Name,
		Lead: fmt.Sprintf("Files that arrive in %s, in mode %s; %s", c.job.Data.Path, c.job.Training.Mode,
			c.summary()),
		Sections: []htmlreport.Section{section,
			{Title: "Settings", Text: []string{"The job with all its settings is job.yaml in this folder."},
				Code: string(c.settings)},
			htmlreport.EnvironmentSection()},
	}
	return page.WriteFile(filepath.Join(c.folder, pageName))
}

// summary says how well all rows since the beginning were predicted.
func (c *course) summary() string {
	gain, loss := evaluation.ScoreNames(c.job.Model.Loss)
	all := c.labels[0].all()
	if all.rows == 0 {
		return "no rows yet"
	}
	return fmt.Sprintf("%s predicted before they were trained on: %s", plural(all.rows, "row"),
		all.text(gain, loss))
}

// writeText prints the result.
func (c *course) writeText(w io.Writer, result *train.Result) {
	cli.Paragraph(w, fmt.Sprintf("%s: %s. This run has trained %s in %s%s.", c.job.Training.Mode, c.summary(),
		plural(result.Samples, "row"), plural(result.Steps, "step"), c.dropped()+expired(result)), "  ")
}

// expired says how many rows of embeddings have gone, if some have.
func expired(result *train.Result) string {
	if result.ExpiredRows == 0 {
		return ""
	}
	return "; " + plural(result.ExpiredRows, "embedding row") + " expired"
}

// dropped says how many bad rows this run has left out, if there are some.
func (c *course) dropped() string {
	if n := c.stream.Dropped(); n > 0 {
		return "; " + plural(n, "bad row") + " left out"
	}
	return ""
}
