package datasets

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strconv"

	"tandem/algo/numeric/batch"
	"tandem/datasets/internal/decode"
	"tandem/datasets/internal/input"
)

// movieLensPositive is the lowest rating, of 1 to 5 stars, that becomes label 1.
const movieLensPositive = 4

// The slots of MovieLens.
const (
	movieLensUser = iota
	movieLensItem
	movieLensAge
	movieLensGenres = movieLensAge + 4 // after age, gender, occupation and zip
)

func movieLensSchema() batch.Schema {
	return newSchema([]string{"user", "item", "age", "gender", "occupation", "zip", "genres"}, nil, "liked")
}

// movieLensDecoder decodes the ratings of MovieLens 100K (u.data, or one of its
// parts such as ua.base): user, item, rating of 1 to 5 and time, separated by
// tabs. A rating of 4 or more is label 1; the time is ignored.
//
// Attributes of users and items come from the files u.user and u.item in the same folder, if
// they exist: age, gender, occupation and zip code, and any number of genres, by their
// numbers in u.genre. If a file is missing, its slots have no ids. An age is a category like
// the others.
//
// Source: Harper and Konstan, ACM TiiS 5(4) 2015.
type movieLensDecoder struct {
	users map[string][]uint64 // the four attributes; nil without u.user
	items map[string][]uint64 // the genres; nil without u.item
}

// newMovieLensDecoder reads the attribute files in the folder of the ratings.
func newMovieLensDecoder(ratings string) (decode.LineDecoder, error) {
	folder := filepath.Dir(ratings)
	users, err := readAttributes(filepath.Join(folder, "u.user"), 5, userAttributes)
	if err != nil {
		return nil, err
	}
	items, err := readAttributes(filepath.Join(folder, "u.item"), 24, itemGenres)
	m := &movieLensDecoder{users, items}
	return m.decode, err
}

// readAttributes reads a table whose fields are separated by bars; the first field is the key.
// It returns nil if the file does not exist. Every line of fieldCount fields becomes ids.
func readAttributes(path string, fieldCount int, toIDs func([][]byte) ([]uint64, string)) (
	map[string][]uint64, error) {
	in, err := input.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer in.Close()
	lines := input.NewLineReader(in)
	table := map[string][]uint64{}
	for {
		line, err := lines.NextLine()
		if err == io.EOF {
			return table, nil
		}
		if err != nil {
			return nil, err
		}
		parts := bytes.Split(line, []byte{'|'})
		if len(parts) != fieldCount {
			reason := fmt.Sprintf("%d fields between bars, want %d", len(parts), fieldCount)
			return nil, &BadRowError{File: path, Line: lines.Line(), Reason: reason}
		}
		ids, reason := toIDs(parts[1:])
		if reason != "" {
			return nil, &BadRowError{File: path, Line: lines.Line(), Reason: reason}
		}
		table[string(parts[0])] = ids
	}
}

// userAttributes returns the ids of age, gender, occupation and zip code.
func userAttributes(fields [][]byte) (ids []uint64, reason string) {
	for _, field := range fields {
		ids = append(ids, CategoryID(field))
	}
	return ids, ""
}

// itemGenres returns the ids of the genres of a movie, whose fields are title, two dates, an
// address and a flag for each genre.
func itemGenres(fields [][]byte) (ids []uint64, reason string) {
	for genre, flag := range fields[4:] {
		switch string(flag) {
		case "0":
		case "1":
			ids = append(ids, CategoryID(strconv.Itoa(genre)))
		default:
			return nil, fmt.Sprintf("flag of genre %d is %q: must be 0 or 1", genre, flag)
		}
	}
	return ids, ""
}

func (m *movieLensDecoder) decode(line []byte, r *decode.Row) *decode.BadRow {
	if n := bytes.Count(line, []byte{'\t'}) + 1; n != 4 {
		return decode.BadRecord("%d tab-separated fields, want 4", n)
	}
	user, rest, _ := bytes.Cut(line, []byte{'\t'})
	item, rest, _ := bytes.Cut(rest, []byte{'\t'})
	rating, _, _ := bytes.Cut(rest, []byte{'\t'})
	if len(rating) != 1 || rating[0] < '1' || rating[0] > '5' {
		return decode.BadField("rating", rating, "must be 1 to 5")
	}
	r.Labels[0] = 0
	if rating[0]-'0' >= movieLensPositive {
		r.Labels[0] = 1
	}
	attributes, known := m.users[string(user)]
	if m.users != nil && !known {
		return decode.BadField("user", user, "not in u.user")
	}
	genres, known := m.items[string(item)]
	if m.items != nil && !known {
		return decode.BadField("item", item, "not in u.item")
	}
	r.IDs[movieLensUser] = append(r.IDs[movieLensUser], CategoryID(user))
	r.IDs[movieLensItem] = append(r.IDs[movieLensItem], CategoryID(item))
	for i, id := range attributes {
		r.IDs[movieLensAge+i] = append(r.IDs[movieLensAge+i], id)
	}
	r.IDs[movieLensGenres] = append(r.IDs[movieLensGenres], genres...)
	return nil
}
