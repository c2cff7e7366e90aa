package datasets

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"tandem/algo/job"
	"tandem/algo/unit"
	"tandem/datasets/internal/decode"
	"tandem/datasets/internal/input"
)

// pipe cuts the rows of standard input into files. A row is written to a file as soon as it was read whole.
// The name of a file is the number of lines before it, without the header of CSV, which every file has.
type pipe struct {
	*Feed
	rows  int
	time  time.Duration
	table *job.Table // nil if no job describes it

	header    []byte // nil before it is known; empty if there is none
	extension string
	rowsEnd   func([]byte) int

	pending []byte // of the input, the beginning of a row
	before  int    // lines before the file in hand
	first   bool   // no file was cut yet

	part *os.File // the file in hand; nil before its first row
	// cutting, if not nil, is called before a file gets its name, with the lines of all files up to this one.
	cutting func(lines int) error
	lines   int // of that file
	timer   *time.Timer
}

// The extensions of the files.
const csvExtension, jsonExtension = ".csv", ".jsonl"

// firstBlocks is the number of block times that the first file waits for rows, because columns and scaling
// follow from it.
const firstBlocks = 10

// newPipe returns a pipe for the rows that data describe.
func (f *Feed) newPipe(data *job.Data) *pipe {
	block := data.Block.Resolved()
	return &pipe{Feed: f, rows: block.Rows, time: time.Duration(block.Time / unit.Nanosecond),
		table: data.CSV}
}

// startPipe begins to read standard input.
func (f *Feed) startPipe(p *pipe, in io.Reader, known map[string]bool) error {
	f.mu.Lock() // against the timer of a file that is gone on with
	defer f.mu.Unlock()
	names, err := f.countAhead(known)
	if err != nil {
		return err
	}
	if err := p.goOnAfter(names, known); err != nil {
		return err
	}
	if err := p.recoverPart(); err != nil {
		return err
	}
	f.received = p.before + p.lines
	f.cut = p.takeRest
	go p.read(in)
	return nil
}

// cutter returns what cuts rows from a text whose beginning is given.
func (p *pipe) cutter(extension string, begin []byte) func([]byte) int {
	if extension == jsonExtension {
		return func(data []byte) int { return bytes.LastIndexByte(data, '\n') + 1 }
	}
	if p.table != nil {
		return decode.RowCutter(p.table.FieldDelimiter(), p.table.Comment)
	}
	line, _, _ := bytes.Cut(begin, []byte{'\n'})
	return decode.RowCutter((&Head{Lines: []string{string(line)}}).Delimiter(), "")
}

// headerLines returns the number of header lines of a file with an extension.
func (p *pipe) headerLines(extension string) int {
	if extension == csvExtension && (p.table == nil || len(p.table.Columns) == 0) {
		return 1
	}
	return 0
}

// recoverPart goes on with a file that a killed program was writing. A last row that is torn is removed.
func (p *pipe) recoverPart() error {
	if _, err := os.Stat(filepath.Join(p.folder, positionName)); err == nil {
		return fmt.Errorf("%s: its rows are those of a topic: name another folder", p.folder)
	}
	entries, err := os.ReadDir(p.folder)
	entries = slices.DeleteFunc(entries, func(e os.DirEntry) bool { return !isPart(e) })
	if err != nil || len(entries) == 0 {
		return err
	}
	name := filepath.Join(p.folder, entries[len(entries)-1].Name()) // the only one, unless a person adds some
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	whole := strings.TrimSuffix(name, partName)
	p.extension = filepath.Ext(whole)
	headers := p.headerLines(p.extension)
	end := p.cutter(p.extension, text)(text)
	if lines(text[:end]) <= headers {
		return os.Remove(name)
	}
	if headers > 0 {
		p.header = text[:bytes.IndexByte(text, '\n')+1]
	}
	before, err := p.linesBefore(filepath.Base(whole))
	if err != nil {
		return err
	}
	if before != p.before {
		return p.gone(fmt.Sprintf("rows before number %d", before+1))
	}
	if err = os.Truncate(name, int64(end)); err != nil {
		return err
	}
	if p.part, err = os.OpenFile(name, os.O_WRONLY|os.O_APPEND, 0); err != nil {
		return err
	}
	p.lines = lines(text[:end]) - headers
	p.startTimer()
	return nil
}

// goOnAfter makes the next file follow all others: those in the folder, and known ones, of which all but the
// last may have been removed. It returns an error if rows between are gone.
func (p *pipe) goOnAfter(names []string, known map[string]bool) error {
	all := map[int]string{} // by the lines before
	for _, name := range slices.AppendSeq(names, maps.Keys(known)) {
		before, err := p.linesBefore(name)
		if err != nil {
			return err
		}
		all[before] = name
	}
	p.first = len(all) == 0
	last := "" // the file before, if it is gone
	for _, before := range slices.Sorted(maps.Keys(all)) {
		name := all[before]
		text, err := os.ReadFile(filepath.Join(p.folder, name))
		switch {
		case errors.Is(err, os.ErrNotExist):
			last = name
			continue
		case err != nil:
			return err
		case last == "" && before != p.before, last != "" && !known[name]:
			return p.gone(fmt.Sprintf("rows before number %d", before+1))
		}
		n := p.headerLines(filepath.Ext(name))
		last, p.before = "", before+lines(text)-n
		if n > 0 {
			p.header = text[:bytes.IndexByte(text, '\n')+1]
		}
	}
	if last != "" {
		return p.gone("rows from " + last + " on")
	}
	return nil
}

// linesBefore returns the number of lines before a file, which is its name.
func (p *pipe) linesBefore(name string) (int, error) {
	n, err := strconv.Atoi(strings.TrimSuffix(name, filepath.Ext(name)))
	if err != nil || n < 0 {
		return 0, fmt.Errorf("%s: it is none of the files that standard input is cut into: name an empty "+
			"folder", filepath.Join(p.folder, name))
	}
	return n, nil
}

// gone returns the error for rows that a checkpoint of another training has.
func (p *pipe) gone(rows string) error {
	return fmt.Errorf("%s: %s are gone, as another training has used them: continue that one (--resume "+
		"with its results), or begin with an empty folder", p.folder, rows)
}

// read reads the input to its end.
func (p *pipe) read(from io.Reader) {
	in, err := input.New(p.from, from)
	p.mu.Lock()
	before := p.extension
	p.extension = csvExtension
	if err == nil && in.JSON {
		p.extension = jsonExtension
	}
	if before != p.extension {
		p.fail(p.cutFile())
	}
	p.mu.Unlock()
	if p.headerLines(p.extension) == 0 {
		p.header = []byte{}
	}
	known := p.header // of the program before, which the input may begin with again
	buffer := make([]byte, 1<<16)
	for begun := false; err == nil; {
		var n int
		if n, err = in.Read(buffer); err != nil && err != io.EOF {
			err = in.Explain(err)
		}
		p.mu.Lock()
		p.pending = append(p.pending, buffer[:n]...)
		if !begun {
			var failed error
			begun, failed = p.takeHeader(known)
			if err = cmp.Or(failed, err); !begun && err == nil && len(p.pending) < input.RowBytesMax {
				p.mu.Unlock()
				continue
			}
		}
		if failed := p.takeRows(); failed != nil {
			err = failed
		}
		going := p.waitForRoom()
		p.mu.Unlock()
		if !going {
			return
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if err == io.EOF {
		if err = nil; len(bytes.TrimSpace(p.pending)) > 0 {
			err = fmt.Errorf("%s:%d: it has ended within a row, as there is no line end: the row is left out",
				p.from, p.before+p.lines+1+p.headerLines(p.extension))
		}
	}
	p.end(errors.Join(p.cutFile(), err))
}

// takeHeader takes the first line of the input, if it is there: as the header or, if that is known, only if
// it is the same. It reports false if there is no whole line yet. Another header is an error.
func (p *pipe) takeHeader(known []byte) (bool, error) {
	p.pending = bytes.TrimLeft(p.pending, "\r\n")
	end := bytes.IndexByte(p.pending, '\n') + 1
	if end == 0 {
		return false, nil
	}
	line := bytes.Clone(p.pending[:end])
	if len(known) == 0 {
		if p.rowsEnd = p.cutter(p.extension, line); known == nil {
			p.header, p.pending = line, p.pending[end:]
		}
		return true, nil
	}
	if bytes.Equal(bytes.TrimRight(line, "\r\n"), bytes.TrimRight(known, "\r\n")) {
		p.pending = p.pending[end:]
	} else if p.isHeader(line, known) {
		p.pending = nil
		return false, fmt.Errorf("%s:1: its columns are %s, and those of the rows before %s: give it "+
			"the same, in their order, or begin another training", p.from, bytes.TrimSpace(line),
			bytes.TrimSpace(known))
	}
	p.rowsEnd = p.cutter(p.extension, known)
	return true, nil
}

// isHeader reports whether a line has the names of most columns of a header, wherever they are, so that it is
// another header and no row.
func (p *pipe) isHeader(line, header []byte) bool {
	delimiter := ""
	if p.table != nil {
		delimiter = p.table.FieldDelimiter()
	}
	delimiter = cmp.Or(delimiter, (&Head{Lines: []string{string(header)}}).Delimiter())
	names := map[string]bool{}
	clean := func(field string) string { return strings.Trim(field, " \t\r\n\"") }
	for name := range strings.SplitSeq(string(header), delimiter) {
		names[clean(name)] = true
	}
	same := 0
	for field := range strings.SplitSeq(string(line), delimiter) {
		if names[clean(field)] {
			same++
		}
	}
	return 2*same > len(names)
}

// takeRows writes the rows that are whole. The caller holds mu.
func (p *pipe) takeRows() error {
	for p.rowsEnd != nil && !p.stopped {
		end := p.rowsEnd(p.pending)
		if end == 0 {
			break
		}
		end = p.firstRows(p.pending[:end])
		if err := p.write(p.pending[:end]); err != nil {
			return err
		}
		p.pending = append(p.pending[:0], p.pending[end:]...)
		if p.lines >= p.rows {
			if err := p.cutFile(); err != nil {
				return err
			}
			if !p.waitForRoom() {
				return nil
			}
		}
	}
	if len(p.pending) >= input.RowBytesMax {
		return fmt.Errorf("%s:%d: %w", p.from, p.before+p.lines+1+p.headerLines(p.extension),
			&input.RowTooLong{})
	}
	return nil
}

// firstRows returns the end of as many of some whole rows as the file in hand has room for, by their lines,
// but of one at least.
func (p *pipe) firstRows(rows []byte) int {
	room := max(p.rows-p.lines, 1)
	var ends []int // of lines, from the last that there is room for on
	for at, n := 0, 1; at < len(rows); n++ {
		if at += bytes.IndexByte(rows[at:], '\n') + 1; n >= room {
			ends = append(ends, at)
		}
	}
	if len(ends) == 0 {
		return len(rows)
	}
	first := sort.Search(len(ends)-1, func(i int) bool { // most often 0: a row can have lines within quotes
		return p.rowsEnd(rows[:ends[i]]) > 0
	})
	return p.rowsEnd(rows[:ends[first]])
}

// write writes whole rows to the file in hand.
func (p *pipe) write(rows []byte) (err error) {
	if p.part == nil {
		name := filepath.Join(p.folder, fmt.Sprintf("%012d", p.before)+p.extension+partName)
		if p.part, err = os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644); err != nil {
			return err
		}
		p.startTimer()
		rows = append(bytes.Clone(p.header), rows...)
		p.lines -= lines(p.header)
	}
	p.lines += lines(rows)
	if _, err = p.part.Write(rows); err != nil { // it keeps its name of a part, which the next program mends
		p.timer.Stop()
		err = errors.Join(err, p.part.Close())
		p.part = nil
	}
	return err
}

// takeRest writes the rows that were read and not written, as there was no room for further files, and ends
// the file in hand. The caller holds mu.
func (p *pipe) takeRest() error {
	if p.ended {
		return nil
	}
	end := 0
	if p.rowsEnd != nil {
		end = p.rowsEnd(p.pending)
	}
	if end > 0 {
		if err := p.write(p.pending[:end]); err != nil {
			return err
		}
		p.pending = p.pending[end:]
	}
	return p.cutFile()
}

// startTimer ends the file in hand after a time.
func (p *pipe) startTimer() {
	limit := p.time
	if p.first {
		limit *= firstBlocks
	}
	part := p.part
	p.timer = time.AfterFunc(limit, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.part == part {
			p.fail(p.cutFile())
		}
	})
}

// cutFile ends the file in hand, if there is one. The caller holds mu.
func (p *pipe) cutFile() error {
	if p.part == nil {
		return nil
	}
	p.timer.Stop()
	part := p.part
	p.before, p.lines, p.part, p.first = p.before+p.lines, 0, nil, false
	if p.cutting != nil {
		if err := p.cutting(p.before); err != nil {
			return errors.Join(err, part.Close())
		}
	}
	return p.finish(part)
}

// fail ends the feed if there is an error. The caller holds mu.
func (p *pipe) fail(err error) {
	if err != nil {
		p.end(err)
	}
}
