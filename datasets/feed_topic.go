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
	"slices"
	"strings"

	"tandem/datasets/internal/input"
)

// messages writes the messages of a topic to files, each a line of JSON. A file beside them has the offsets
// with which the topic goes on, so that every message is in one file, whenever the program is killed.
type messages struct {
	*pipe
	topic input.Topic
	name  string
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
	ID     string   `json:"id"`
	Before position `json:"before"`
	After  position `json:"after"`
}

// startTopic begins to read a topic.
func (f *Feed) startTopic(ctx context.Context, p *pipe, url string, known map[string]bool) error {
	address, _, _ := strings.Cut(url, "?")
	m := &messages{pipe: p, name: path.Base(address)}
	p.extension, p.header, p.cutting = jsonExtension, []byte{}, m.save
	names, err := f.countAhead(known)
	if err == nil {
		err = p.goOnAfter(names, known)
	}
	if err != nil {
		return err
	}
	id, err := m.recall()
	if err != nil {
		return err
	}
	if m.topic, err = input.OpenTopic(ctx, url, m.next); err != nil {
		return fmt.Errorf("%s: %w", url, err)
	}
	if id != "" && id != m.topic.ID() {
		err = fmt.Errorf("%s: its rows are those of another topic %s, which is gone, or of other brokers: "+
			"name another folder", m.folder, m.name)
	}
	if err == nil {
		err = m.removeParts()
	}
	if err == nil {
		err = m.save(p.before) // where no message comes before a kill, too
	}
	if err != nil {
		return errors.Join(err, m.topic.Close())
	}
	f.received = p.before
	ctx, cancel := context.WithCancel(ctx)
	f.cut = func() error {
		cancel()
		if p.ended {
			return nil
		}
		return errors.Join(p.cutFile(), m.note(nil))
	}
	go m.follow(ctx)
	return nil
}

// recall reads where the topic goes on behind the last whole file, and the id of the topic. Before the first
// file that is nowhere.
func (m *messages) recall() (id string, err error) {
	m.next = map[int32]int64{}
	name := filepath.Join(m.folder, positionName)
	text, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) && m.before == 0 {
		entries, err := os.ReadDir(m.folder)
		if slices.ContainsFunc(entries, isPart) {
			err = fmt.Errorf("%s: it has rows, and none of a topic: name another folder", m.folder)
		}
		return "", err
	}
	var p positions
	if err == nil {
		err = json.Unmarshal(text, &p)
	}
	switch {
	case err != nil:
		return "", fmt.Errorf("%s, which says where the topic goes on: %w: name an empty folder for another "+
			"training", name, err)
	case p.Topic != m.name:
		return "", fmt.Errorf("%s: its rows are those of topic %s, not of %s: name another folder", m.folder,
			p.Topic, m.name)
	}
	for _, saved := range []position{p.After, p.Before} {
		if saved.Lines == m.before && saved.Next != nil {
			m.next = saved.Next
			return p.ID, nil
		}
	}
	return "", m.gone(fmt.Sprintf("rows up to number %d", p.After.Lines))
}

// isPart reports whether an entry is a file of rows that is not whole.
func isPart(e fs.DirEntry) bool {
	return strings.HasSuffix(e.Name(), partName) && !strings.HasPrefix(e.Name(), ".")
}

// removeParts removes files that a killed program was writing, because the topic has their rows.
func (m *messages) removeParts() error {
	entries, err := os.ReadDir(m.folder)
	for _, e := range entries {
		if isPart(e) {
			err = errors.Join(err, os.Remove(filepath.Join(m.folder, e.Name())))
		}
	}
	return err
}

// note saves partitions that are new and, while no file is written, that messages without rows were read. The
// caller holds mu.
func (m *messages) note(added map[int32]int64) error {
	maps.Copy(m.next, added)
	switch {
	case m.part == nil && !maps.Equal(m.next, m.saved.Next):
		m.saved.Next = maps.Clone(m.next)
	case len(added) > 0:
		m.saved.Next = maps.Clone(m.saved.Next)
		maps.Copy(m.saved.Next, added)
	default:
		return nil
	}
	return m.writePositions(m.saved)
}

// save writes where the topic goes on behind a number of lines, before the file up to there has its name. The
// caller holds mu, or is alone.
func (m *messages) save(lines int) error {
	after := position{lines, maps.Clone(m.next)}
	if m.saved.Next == nil {
		m.saved = after
	}
	if err := m.writePositions(after); err != nil {
		return err
	}
	m.saved = after
	return nil
}

// writePositions writes the file of positionName.
func (m *messages) writePositions(after position) error {
	text, err := json.Marshal(positions{m.name, m.topic.ID(), m.saved, after})
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
	return errors.Join(os.Rename(part.Name(), name), syncFolder(m.folder))
}

// follow writes the messages of a topic until the feed is stopped.
func (m *messages) follow(ctx context.Context) {
	defer m.topic.Close() // nothing was written to it
	for {
		all, added, err := m.topic.Next(ctx)
		if ctx.Err() != nil {
			return
		}
		m.mu.Lock()
		if failed := m.addAll(all, added); failed != nil {
			err = failed
		}
		if err != nil {
			m.end(errors.Join(fmt.Errorf("topic %s: %w", m.name, err), m.cutFile()))
		}
		going := !m.stopped && !m.ended
		m.mu.Unlock()
		if !going {
			return
		}
	}
}

// addAll writes messages, once there is room. The caller holds mu.
func (m *messages) addAll(all []input.Message, added map[int32]int64) error {
	if err := m.note(added); err != nil {
		return err
	}
	for i := range all {
		if !m.waitForRoom() {
			return nil
		}
		one := &all[i]
		if line := lineOf(one.Value); len(line) > 0 {
			if err := m.write(line); err != nil {
				return err
			}
		}
		if m.next[one.Partition] = one.Offset + 1; m.lines >= m.rows {
			if err := m.cutFile(); err != nil {
				return err
			}
		}
	}
	return m.note(nil)
}

// badBytes are those of a message that is too long that its row has, which is a bad one.
const badBytes = 100

// lineOf returns a message as a line; nothing if it has none but blanks, as those that say that a key is
// gone. What is no JSON, or too long, is a line that is a bad row.
func lineOf(value []byte) []byte {
	value = bytes.TrimSpace(value)
	if len(value) == 0 {
		return nil
	}
	if len(value) >= input.RowBytesMax {
		value = value[:badBytes]
	}
	if bytes.ContainsAny(value, "\r\n") {
		var line bytes.Buffer
		if json.Compact(&line, value) != nil {
			line.Reset()
			line.Write(bytes.Join(bytes.Fields(value), []byte{' '}))
		}
		value = line.Bytes()
	}
	return append(bytes.Clone(value), '\n')
}
