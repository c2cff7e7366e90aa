package datasets

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"strings"

	"tandem/datasets/internal/input"
)

// messages writes the messages of a topic to files, each a line of JSON. A file beside them has the offsets
// with which the topic goes on, so that every message is in one file, whenever the program is killed.
type messages struct {
	*pipe
	topic string          // its name
	next  map[int32]int64 // of each partition, the offset behind the last message that was written
	saved position        // behind the last whole file
}

// positionName is the file in the folder of rows that says where a topic goes on.
const positionName = ".topic.json"

// position is where a topic goes on behind a file.
type position struct {
	Lines int             `json:"lines"` // of all files up to this one
	Next  map[int32]int64 `json:"next"`  // offsets by partition
}

// positions are in the file of positionName. There are two, because it is written before the last file has
// its name.
type positions struct {
	Topic  string   `json:"topic"`
	Before position `json:"before"`
	After  position `json:"after"`
}

// startTopic begins to read a topic.
func (f *Feed) startTopic(ctx context.Context, p *pipe, url string, known map[string]bool) error {
	m := &messages{pipe: p}
	address, _, _ := strings.Cut(url, "?")
	m.topic = path.Base(address)
	p.extension, p.header, p.cutting = jsonExtension, []byte{}, m.save
	names, err := f.countAhead(known)
	if err == nil {
		err = p.goOnAfter(names, known)
	}
	if err == nil {
		err = m.removeParts()
	}
	if err == nil {
		err = m.recall()
	}
	if err != nil {
		return err
	}
	topic, err := input.OpenTopic(ctx, url, m.next)
	if err != nil {
		return fmt.Errorf("%s: %w", url, err)
	}
	if m.saved = (position{p.before, maps.Clone(m.next)}); p.before == 0 {
		err = m.save(0) // the offsets of the beginning, where no message has come before a kill
	}
	if err != nil {
		return errors.Join(err, topic.Close())
	}
	f.received = p.before
	ctx, cancel := context.WithCancel(ctx)
	f.cut = func() {
		p.fail(p.cutFile())
		cancel()
	}
	go m.follow(ctx, topic)
	return nil
}

// removeParts removes files that a killed program was writing, because the topic has their rows.
func (m *messages) removeParts() error {
	entries, err := os.ReadDir(m.folder)
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), partName) {
			err = errors.Join(err, os.Remove(filepath.Join(m.folder, e.Name())))
		}
	}
	return err
}

// recall reads where the topic goes on behind the last whole file. Before the first file that is nowhere.
func (m *messages) recall() error {
	m.next = map[int32]int64{}
	name := filepath.Join(m.folder, positionName)
	text, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) && m.before == 0 {
		return nil
	}
	var p positions
	if err == nil {
		err = json.Unmarshal(text, &p)
	}
	switch {
	case err != nil:
		return fmt.Errorf("%s, which says where the topic goes on: %w: name an empty folder for another "+
			"training", name, err)
	case p.Topic != m.topic:
		return fmt.Errorf("%s: its rows are those of topic %s, not of %s: name another folder", m.folder,
			p.Topic, m.topic)
	}
	for _, saved := range []position{p.After, p.Before} {
		if saved.Lines == m.before && saved.Next != nil {
			m.next = saved.Next
			return nil
		}
	}
	return m.gone(fmt.Sprintf("rows up to number %d", p.After.Lines))
}

// save writes where the topic goes on behind a number of lines. The caller holds mu, or is alone.
func (m *messages) save(lines int) error {
	after := position{lines, maps.Clone(m.next)}
	text, err := json.Marshal(positions{m.topic, m.saved, after})
	if err != nil {
		return err
	}
	name := filepath.Join(m.folder, positionName)
	part, err := os.Create(name + partName)
	if err != nil {
		return err
	}
	_, err = part.Write(append(text, '\n'))
	if err = errors.Join(err, part.Sync(), part.Close()); err != nil {
		return err
	}
	m.saved = after
	return errors.Join(os.Rename(part.Name(), name), syncFolder(m.folder))
}

// follow writes the messages of a topic until the feed is stopped.
func (m *messages) follow(ctx context.Context, topic input.Topic) {
	defer topic.Close() // nothing was written to it
	for {
		all, err := topic.Next(ctx)
		if ctx.Err() != nil {
			return
		}
		m.mu.Lock()
		for i := range all {
			if failed := m.add(&all[i]); failed != nil {
				err = failed
				break
			}
		}
		if err != nil {
			m.end(errors.Join(fmt.Errorf("topic %s: %w", m.topic, err), m.cutFile()))
		}
		going := !m.stopped && !m.ended
		m.mu.Unlock()
		if !going {
			return
		}
	}
}

// add writes a message, once there is room. The caller holds mu.
func (m *messages) add(one *input.Message) error {
	if !m.waitForRoom() {
		return nil
	}
	line, err := lineOf(one.Value)
	begins := m.first && m.part == nil && len(line) > 0
	if err == nil && begins && line[0] != '{' {
		err = errors.New("it is no JSON: want an object with a member for each column, as " +
			`{"user": 7, "click": 0}`)
	}
	if err == nil && len(line) > 0 {
		err = m.write(line)
	}
	if err != nil {
		return fmt.Errorf("partition %d, offset %d: %w", one.Partition, one.Offset, err)
	}
	if m.next[one.Partition] = one.Offset + 1; m.lines >= m.rows {
		return m.cutFile()
	}
	return nil
}

// lineOf returns a message as a line; nothing if it has none but blanks, as those that say that a key is
// gone.
func lineOf(value []byte) ([]byte, error) {
	value = bytes.TrimSpace(value)
	if len(value) >= input.RowBytesMax {
		return nil, &input.RowTooLong{}
	}
	if len(value) == 0 {
		return nil, nil
	}
	if bytes.ContainsAny(value, "\r\n") {
		var line bytes.Buffer
		if json.Compact(&line, value) != nil { // a bad row, which is one line still
			line.Reset()
			line.Write(bytes.Join(bytes.Fields(value), []byte{' '}))
		}
		value = line.Bytes()
	}
	return append(bytes.Clone(value), '\n'), nil
}
