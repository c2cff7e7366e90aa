package job

import (
	"fmt"
	"strings"
)

// Nearest returns the shortest known word that begins with word, in upper or lower case. If there is none, it
// returns the longest known word of three letters or more with which word begins, such as dim for dimension.
// Else it is the known word with the smallest edit distance to word, or "" if that distance is more than half
// of word's letters, rounded up. Of equally near words, it returns the first. It returns "" for an empty word
// and for one of more than 100 bytes.
//
// Use it for every value that a user types by name: a key of a job file, or a value of a command line.
func Nearest(word string, known []string) string {
	const longest = 100 // the time is that of letters by letters
	if word == "" || len(word) > longest {
		return ""
	}
	best, bestDistance := "", (len([]rune(word))+1)/2+1
	for _, candidate := range known {
		if n := len(word); len(candidate) >= n && strings.EqualFold(candidate[:n], word) &&
			(best == "" || len(candidate) < len(best)) {
			best = candidate
		}
	}
	const leastBeginning = 3 // letters
	for _, candidate := range known {
		if n := len(candidate); n > len(best) && n >= leastBeginning && n <= len(word) &&
			strings.EqualFold(word[:n], candidate) {
			best = candidate
		}
	}
	if best != "" {
		return best
	}
	for _, candidate := range known {
		if d := editDistance([]rune(word), []rune(candidate)); d < bestDistance {
			best, bestDistance = candidate, d
		}
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
