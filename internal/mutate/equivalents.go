package mutate

// An Equivalent is a mutant that no test can kill, because it behaves as the
// original does.
type Equivalent struct {
	File   string // from the root of the module
	Before string // the lines without indentation
	After  string
	Proof  string
}

// matches reports whether the entry is about a mutant.
func (e Equivalent) matches(m *Mutant) bool {
	return e.File == m.File && e.Before == m.Before && e.After == m.After
}

// Equivalents are the mutants that the draw leaves out.
func Equivalents() []Equivalent {
	return []Equivalent{}
}
