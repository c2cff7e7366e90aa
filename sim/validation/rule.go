package validation

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
)

// unseen reports whether all rows of a software are test.
func unseen(software string) bool { return software == "oneflow" || software == "pytorch-dlrm-graphs" }

// fitShare is the number of models, or of rows of a software with one model, of which one is fit.
const fitShare = 3

// checkRule reports the first step that is not in the set where the rule puts it.
func checkRule(steps []Step) error {
	models, ids := map[string][]string{}, map[string][]string{}
	for _, s := range steps {
		if !slices.Contains(models[s.Software], s.Model) {
			models[s.Software] = append(models[s.Software], s.Model)
		}
		if s.Reason != Known {
			ids[s.Software] = append(ids[s.Software], s.ID)
		}
	}
	for _, s := range steps {
		set, reason := Test, ByModel
		switch m := models[s.Software]; {
		case s.Reason == Known:
			set, reason = Fit, Known
		case unseen(s.Software):
			reason = BySoftware
		case len(m) > 1 && isFit(m, s.Model, s.Software+"/"):
			set = Fit
		case len(m) == 1:
			reason = ByRow
			if isFit(ids[s.Software], s.ID, "") {
				set = Fit
			}
		}
		if s.Set != set || s.Reason != reason {
			return fmt.Errorf("steps.csv (%s): set, reason = %s, %s; the rule says %s, %s", s.ID, s.Set,
				s.Reason, set, reason)
		}
	}
	return nil
}

// isFit reports whether a name is in the first third, rounded up, of all names, sorted by the hash of prefix
// and name.
func isFit(names []string, name, prefix string) bool {
	digest := func(name string) string {
		sum := sha256.Sum256([]byte(prefix + name))
		return hex.EncodeToString(sum[:])
	}
	sorted := slices.SortedFunc(slices.Values(names), func(a, b string) int {
		return cmp.Compare(digest(a), digest(b))
	})
	return slices.Index(sorted, name) < (len(sorted)+fitShare-1)/fitShare
}
