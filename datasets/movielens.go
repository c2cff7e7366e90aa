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
)

// movieLensPositive is the lowest rating, of 1 to 5 stars, that is label 1.
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
// tabs. A rating of 4 or more is label 1; the time is left out.
//
// The attributes of users and items are joined from u.user and u.item beside
// the ratings, if they are there: age, gender, occupation and zip code, and any
// number of genres, by their numbers in u.genre. Without a file its slots have
// no ids. An age is a category like the others.
//
// Source: Harper and Konstan, ACM TiiS 5(4) 2015.
type movieLensDecoder struct {
	users map[string][]uint64 // the four attributes; nil without u.user
	items map[string][]uint64 // the genres; nil without u.item
}

// newMovieLensDecoder reads the files beside the ratings.
func newMovieLensDecoder(ratings string) (lineDecoder, error) {
	folder := filepath.Dir(ratings)
	users, err := readAttributes(filepath.Join(folder, "u.user"), 5, userAttributes)
	if err != nil {
		return nil, err
	}
	items, err := readAttributes(filepath.Join(folder, "u.item"), 24, itemGenres)
	m := &movieLensDecoder{users, items}
	return m.decode, err
}

// readAttributes reads a table of so many fields with bars between, of which
// the first is the key. It returns nil if there is no such file.
func readAttributes(path string, fields int, decode func([][]byte) ([]uint64, string)) (map[string][]uint64, error) {
	in, err := openInput(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer in.Close()
	lines := newLineReader(in)
	table := map[string][]uint64{}
	for {
		line, err := lines.next()
		if err == io.EOF {
			return table, nil
		}
		if err != nil {
			return nil, err
		}
		parts := bytes.Split(line, []byte{'|'})
		if len(parts) != fields {
			return nil, lines.bad(fmt.Sprintf("%d fields between bars, want %d", len(parts), fields))
		}
		ids, reason := decode(parts[1:])
		if reason != "" {
			return nil, lines.bad(reason)
		}
		table[string(parts[0])] = ids
	}
}

// userAttributes decodes age, gender, occupation and zip code.
func userAttributes(fields [][]byte) (ids []uint64, reason string) {
	for _, field := range fields {
		ids = append(ids, CategoryID(field))
	}
	return ids, ""
}

// itemGenres decodes title, two dates, an address and a flag for each genre.
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

func (m *movieLensDecoder) decode(line []byte, r *row) *BadRowError {
	if n := bytes.Count(line, []byte{'\t'}) + 1; n != 4 {
		return badWhole("%d tab-separated fields, want 4", n)
	}
	user, rest, _ := bytes.Cut(line, []byte{'\t'})
	item, rest, _ := bytes.Cut(rest, []byte{'\t'})
	rating, _, _ := bytes.Cut(rest, []byte{'\t'})
	if len(rating) != 1 || rating[0] < '1' || rating[0] > '5' {
		return badField("rating", rating, "must be 1 to 5")
	}
	r.labels[0] = 0
	if rating[0]-'0' >= movieLensPositive {
		r.labels[0] = 1
	}
	attributes, known := m.users[string(user)]
	if m.users != nil && !known {
		return badField("user", user, "not in u.user")
	}
	genres, known := m.items[string(item)]
	if m.items != nil && !known {
		return badField("item", item, "not in u.item")
	}
	r.ids[movieLensUser] = append(r.ids[movieLensUser], CategoryID(user))
	r.ids[movieLensItem] = append(r.ids[movieLensItem], CategoryID(item))
	for i, id := range attributes {
		r.ids[movieLensAge+i] = append(r.ids[movieLensAge+i], id)
	}
	r.ids[movieLensGenres] = append(r.ids[movieLensGenres], genres...)
	return nil
}
