package datasets

import (
	"bytes"

	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/datasets/internal/decode"
	"tandem/datasets/internal/negatives"
)

// Slots of MovieLens interactions. The first four describe the user, the others the item.
const (
	implicitUser  = 0
	implicitItem  = 4
	implicitGenre = 5
)

func implicitSchema() batch.Schema {
	return newSchema([]string{"user", "gender", "age", "occupation", "item", "genre"}, nil, "watched")
}

// implicitNegatives returns the sampler of the rows of label 0.
func implicitNegatives(n job.NegativeSampling) negatives.Sampler {
	return negatives.Sampler{NegativeSampling: n, User: implicitUser, Item: implicitItem,
		Genre: implicitGenre}
}

// decodeImplicit decodes MovieLens interactions in the layout of the ENSFM
// experiments,
//
//	user-gender-age-occupation,item-genre
//
// with one observed interaction per line. Every label is 1; package negatives adds the rows of
// label 0.
func decodeImplicit(line []byte, r *decode.Row) *decode.BadRow {
	user, item, found := bytes.Cut(line, []byte{','})
	if !found || bytes.Count(user, []byte{'-'}) != 3 || bytes.Count(item, []byte{'-'}) != 1 {
		return decode.BadRecord("not of the form user-gender-age-occupation,item-genre")
	}
	slot := 0
	for _, side := range [][]byte{user, item} {
		for part := range bytes.SplitSeq(side, []byte{'-'}) {
			if len(part) == 0 {
				return decode.BadField(implicitSchema().Slots[slot].Name, part, "must not be empty")
			}
			r.IDs[slot] = append(r.IDs[slot], CategoryID(part))
			slot++
		}
	}
	r.Labels[0] = 1
	return nil
}
