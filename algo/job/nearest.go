package job

import (
	"fmt"
	"strings"
)

// Nearest returns the shortest known word that begins with word, in upper or lower case. If there is none, it
// returns the known word with the smallest edit distance to word, or "" if that distance is more than half of
// word's letters, rounded up. If the distance is more than two, the longest known word of three letters or
// more with which word begins is nearer, as dim is to dimension. Of equally near words, it returns the first.
// It returns "" for an empty word and for one of more than 100 bytes.
//
// Use it for every value that a user types by name: a key of a job file, or a value of a command line.
func Nearest(word string, known []string) string {
	const longest = 100 // the time is that of letters by letters
	if word == "" || len(word) > longest {
		return ""
	}
	begun, beginning := "", "" // the shortest that begins with word, the longest with which word begins
	best, bestDistance := "", (len([]rune(word))+1)/2+1
	const leastBeginning, fewMistakes = 3, 2 // letters
	for _, candidate := range known {
		switch n := min(len(word), len(candidate)); {
		case !strings.EqualFold(candidate[:n], word[:n]):
		case n == len(word) && (begun == "" || len(candidate) < len(begun)):
			begun = candidate
		case n == len(candidate) && n >= leastBeginning && n > len(beginning):
			beginning = candidate
		}
		if d := editDistance([]rune(word), []rune(candidate)); d < bestDistance {
			best, bestDistance = candidate, d
		}
	}
	if begun != "" {
		return begun
	}
	if beginning != "" && bestDistance > fewMistakes {
		return beginning
	}
	return best
}

// Unknown returns the text of an error: word is not among the known ones. It names the nearest known word, or
// all if none is near.
func Unknown(word string, known []string) string {
	if nearest := Nearest(word, known); nearest != "" {
		return fmt.Sprintf("%q is unknown; the nearest is %q", word, nearest)
	}
	return fmt.Sprintf("%q is unknown; known are %s", shortened(word), strings.Join(known, ", "))
}

// editDistance returns the number of letters to insert, delete, replace or
// exchange with their neighbour that turns a into b.
//
// Source: Damerau, CACM 7 (1964), in the restricted form that edits no part
// twice ("optimal string alignment").
func editDistance(a, b []rune) int {
	// Row i holds the distances of a[:i] to every b[:j].
	before, previous, current := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range current {
		current[j] = j
	}
	for i := 1; i <= len(a); i++ {
		before, previous, current = previous, current, before
		current[0] = i
		for j := 1; j <= len(b); j++ {
			replace := previous[j-1]
			if a[i-1] != b[j-1] {
				replace++
			}
			current[j] = min(replace, previous[j]+1, current[j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				current[j] = min(current[j], before[j-2]+1)
			}
		}
	}
	return current[len(b)]
}
