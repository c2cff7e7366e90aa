package table

import "tandem/algo/isa"

// Use has a table use a set of vector instructions from now on.
func (t *Table) Use(set isa.Set) { t.set = set }
