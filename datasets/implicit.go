package datasets

import (
	"bytes"

	"tandem/algo/numeric/batch"
)

// The slots of MovieLensImplicit. The first four describe the user, the others
// the item.
const (
	implicitUser  = 0
	implicitItem  = 4
	implicitGenre = 5
)

func implicitSchema() batch.Schema {
	return newSchema([]string{"user", "gender", "age", "occupation", "item", "genre"}, nil, "watched")
}

// implicitLine decodes MovieLens interactions in the layout of the ENSFM
// experiments,
//
//	user-gender-age-occupation,item-genre
//
// one observed interaction a line, so every label is 1: job.NegativeSampling adds
// the rest.
func implicitLine(line []byte, r *row) *BadRowError {
	user, item, found := bytes.Cut(line, []byte{','})
	if !found || bytes.Count(user, []byte{'-'}) != 3 || bytes.Count(item, []byte{'-'}) != 1 {
		return badWhole("not of the form user-gender-age-occupation,item-genre")
	}
	slot := 0
	for _, side := range [][]byte{user, item} {
		for part := range bytes.SplitSeq(side, []byte{'-'}) {
			if len(part) == 0 {
				return badField(implicitSchema().Slots[slot].Name, part, "must not be empty")
			}
			r.ids[slot] = append(r.ids[slot], CategoryID(part))
			slot++
		}
	}
	r.labels[0] = 1
	return nil
}
