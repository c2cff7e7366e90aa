package persia

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v3"
)

// read reads a mapping that is found at a path of keys.
func (t *translation) read(path string, mapping *yaml.Node) error {
	entries, err := entriesOf(mapping)
	if err != nil {
		return err
	}
	for _, e := range entries {
		key, value := e.key, e.value
		at := path + cmp.Or(sections[key.Value], key.Value)
		sentence, known := counterparts[at]
		var err error
		switch {
		case known:
			t.leaveOut(key, at, sentence)
		case at == "server.capacity":
			t.where = t.place(key)
			err = decodeAbove(0, value, &t.capacity)
		case at == "common_config.metrics_config.job_name":
			t.name = cmp.Or(strings.Map(nameRune, value.Value), t.name)
		case at == "slots_config" || at == "feature_configs":
			err = t.readSlots(value)
		case at == "feature_groups":
			err = t.readGroups(value)
		case value.Kind == yaml.MappingNode:
			err = t.read(at+".", value)
		default:
			t.leaveOut(key, at, "Persia has no such setting")
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// decode reads a value, whose line the error has.
func decode(value *yaml.Node, to any) error {
	if err := value.Decode(to); err != nil {
		return fmt.Errorf("%d: %q is not what Persia reads there", value.Line, value.Value)
	}
	return nil
}

// decodeAbove reads a whole number that must be above another.
func decodeAbove(least int, value *yaml.Node, to *int) error {
	if err := decode(value, to); err != nil || *to > least {
		return err
	}
	return fmt.Errorf("%d: %d is no number that Persia has there: want more than %d", value.Line, *to, least)
}

// place returns the file and the line of a key.
func (t *translation) place(key *yaml.Node) string { return t.file + ":" + strconv.Itoa(key.Line) }

// leaveOut notes a key without a counterpart.
func (t *translation) leaveOut(key *yaml.Node, path, sentence string) {
	path = strings.TrimPrefix(strings.TrimPrefix(path, "server."), "worker.")
	if strings.ContainsFunc(path, unicode.IsControl) {
		path = strconv.Quote(path) // a line end would end the comment
	}
	t.without = append(t.without, unmatched{t.place(key), path, sentence})
}

// leaveOutOfSlots notes a key of a slot without a counterpart. Slots repeat it, and the first is noted.
func (t *translation) leaveOutOfSlots(key *yaml.Node, path, sentence string) {
	if !t.ofSlots[path] {
		t.ofSlots[path] = true
		t.leaveOut(key, path, sentence)
	}
}

// readSlots reads slots_config.
func (t *translation) readSlots(mapping *yaml.Node) error {
	slots, err := entriesOf(mapping)
	if err != nil {
		return err
	}
	for _, slot := range slots {
		s := slotConfig{where: t.place(slot.key), fixed: 10, sums: true}
		s.Slot = slot.key.Value
		settings, err := entriesOf(slot.value)
		if err != nil {
			return err
		}
		for _, e := range settings {
			if err := t.readSetting(&s, e.key, e.value); err != nil {
				return err
			}
		}
		if s.Dim == 0 {
			return fmt.Errorf("%d: slot %s has no dim", slot.key.Line, s.Slot)
		}
		t.slots = append(t.slots, s)
	}
	return nil
}

// readSetting reads a setting of a slot.
func (t *translation) readSetting(s *slotConfig, key, value *yaml.Node) error {
	switch key.Value {
	case "dim":
		return decodeAbove(0, value, &s.Dim)
	case "sample_fixed_size":
		return decodeAbove(0, value, &s.fixed)
	case "embedding_summation":
		return decode(value, &s.sums)
	case "sqrt_scaling":
		return decode(value, &s.SqrtScaling)
	case "hash_stack_config":
		return t.readHashStack(s, value)
	case "index_prefix":
		t.leaveOutOfSlots(key, "a slot's "+key.Value, "the prefixes of slots are chosen by their number")
	default:
		t.leaveOutOfSlots(key, "a slot's "+key.Value, "Persia has no such setting")
	}
	return nil
}

// readHashStack reads the hash_stack_config of a slot. No rounds mean that it has none.
func (t *translation) readHashStack(s *slotConfig, mapping *yaml.Node) error {
	settings, err := entriesOf(mapping)
	if err != nil {
		return err
	}
	h := &s.HashStack
	for _, e := range settings {
		switch e.key.Value {
		case "hash_stack_rounds":
			err = decodeAbove(-1, e.value, &h.Rounds)
		case "embedding_size":
			err = decodeAbove(-1, e.value, &h.Rows)
		default:
			t.leaveOutOfSlots(e.key, "hash_stack_config."+e.key.Value, "Persia has no such setting")
		}
		if err != nil {
			return err
		}
	}
	if h.Rounds == 0 {
		h.Rows = 0
	}
	return nil
}

// readGroups reads feature_groups.
func (t *translation) readGroups(mapping *yaml.Node) error {
	groups, err := entriesOf(mapping)
	if err != nil {
		return err
	}
	for _, g := range groups {
		var slots []string
		if err := decode(g.value, &slots); err != nil {
			return err
		}
		for _, slot := range slots {
			if other, ok := t.groups[slot]; ok {
				return fmt.Errorf("%d: slot %s is in group %s, too (%s): leave it out of one", g.key.Line,
					slot, other.name, other.where)
			}
			t.groups[slot] = featureGroup{g.key.Value, t.place(g.key)}
		}
	}
	return nil
}
