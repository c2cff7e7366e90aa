// Package persia translates configurations of Persia to a job file.
//
//	text, err := persia.Translate([]string{"embedding_config.yml", "global_config.yml"})
//
// Source: the configurations that github.com/PersiaML/PERSIA reads, and the page on them of its tutorials.
package persia

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"tandem/algo/job"
)

// translation is what configurations of Persia say.
type translation struct {
	file     string // in hand
	files    []string
	name     string
	slots    []slotConfig
	dim      int                     // that most slots have
	groups   map[string]featureGroup // by slot
	capacity int
	where    string // of capacity
	without  []unmatched
	ofSlots  map[string]bool // the keys of slots in without
}

// unmatched is a key without a counterpart.
type unmatched struct{ place, key, sentence string }

// slotConfig is a slot of embedding_config.yml.
type slotConfig struct {
	job.SlotSetting
	where string // of its first line
	fixed int    // sample_fixed_size
	sums  bool   // embedding_summation
}

// featureGroup is the feature group of a slot.
type featureGroup struct{ name, where string }

// Translate returns the job file of configurations.
func Translate(files []string) ([]byte, error) {
	t := &translation{name: "persia", groups: map[string]featureGroup{}, ofSlots: map[string]bool{}}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		t.file = filepath.Base(file)
		t.files = append(t.files, t.file)
		document, err := readYAML(text)
		if m := repeatedKey(err); m != nil {
			return nil, fmt.Errorf("%s:%s: the key %s is there twice, first in line %s: leave one out", file,
				m[1], m[2], m[3])
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		if err := t.read("", document); err != nil {
			return nil, fmt.Errorf("%s:%w", file, err)
		}
	}
	if len(t.slots) == 0 {
		return nil, errors.New("no slots_config in " + strings.Join(t.files, ", ") +
			": name embedding_config.yml, too")
	}
	if err := t.finish(); err != nil {
		return nil, err
	}
	text := t.text()
	if _, err := job.Parse(text, "the job"); err != nil {
		return nil, fmt.Errorf("what the configurations say is no job here: %w", err)
	}
	return text, nil
}

// commonDim returns the dimension that most slots have.
func (t *translation) commonDim() int {
	counts := map[int]int{}
	best := t.slots[0].Dim
	for _, s := range t.slots {
		if counts[s.Dim]++; counts[s.Dim] > counts[best] {
			best = s.Dim
		}
	}
	return best
}

// finish relates what the files say to each other.
func (t *translation) finish() error {
	t.dim = t.commonDim()
	for i := range t.slots {
		s := &t.slots[i]
		s.Group = t.groups[s.Slot].name
		delete(t.groups, s.Slot)
		if !s.sums {
			s.Raw = s.fixed
		}
		if s.Dim == t.dim {
			s.Dim = 0
		}
	}
	for slot, group := range t.groups { // order-free: any of them is an error
		return fmt.Errorf("%s: group %s has the slot %s, which slots_config has not", group.where, group.name,
			slot)
	}
	return nil
}
