package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"tandem/algo/job"
	"tandem/internal/modeltest"
)

// Weights of ids are inputs like any other: behind the ids, texts of a column of their own, or numbers if
// every row has one id. Requests that are computed together, of rows with and without tags, have the
// predictions of the file.
func TestWeightsOfIDsAreInputs(t *testing.T) {
	const rows = 240
	text := "user,tags,likes,shop,visits,clicked\n"
	var users, tags, likes, shops []string
	var visits []float32
	for i := range rows {
		var own, weights []string
		for k := range i / 60 { // the first request has none
			own = append(own, fmt.Sprint("t", (i+k)%5))
			weights = append(weights, fmt.Sprint(0.25+float32(i%3)))
		}
		users = append(users, fmt.Sprintf("u%d:%v", i%17, float32(i%5)-1.5))
		tags, likes = append(tags, strings.Join(own, "|")), append(likes, strings.Join(weights, "|"))
		shops, visits = append(shops, fmt.Sprint("s", i%7)), append(visits, float32(i%4)+0.1)
		text += fmt.Sprintf("%s,%s,%s,%s,%v,%d\n", users[i], tags[i], likes[i], shops[i], visits[i], i%3/2)
	}
	table := filepath.Join(t.TempDir(), "clicks.csv")
	if err := os.WriteFile(table, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	j := job.Default()
	j.Name, j.Cluster = "clicks", job.PersiaCluster()
	j.Data = job.Data{Kind: job.KindCSV, Path: table, Cache: job.CacheOff, CSV: &job.Table{Label: "clicked",
		Slots: []job.IDColumn{{Column: "user", WeightSeparator: ":"},
			{Column: "tags", Separator: "|", Weights: "likes"}, {Column: "shop", Weights: "visits"}}},
		Slots: []job.SlotSetting{{Slot: "tags", Pooling: job.PoolMean},
			{Slot: "shop", Pooling: job.PoolSqrt}}}
	folder, _ := modeltest.Train(t, j)
	want := expected(t, table, folder)
	address, stop := start(t, folder, "--name", "clicks")
	defer stop()
	ask := func(lo, hi int, change func(inputs map[string]any)) (int, string, []float32) {
		inputs := map[string]any{"user": users[lo:hi], "tags": tags[lo:hi], "likes": likes[lo:hi],
			"shop": shops[lo:hi], "visits": visits[lo:hi]}
		change(inputs)
		var all []any
		for name, data := range inputs { // in any order
			datatype := map[bool]string{true: "FP32", false: "BYTES"}[name == "visits"]
			all = append(all, map[string]any{"name": name, "shape": []int{hi - lo, 1}, "datatype": datatype,
				"data": data})
		}
		body, _ := json.Marshal(map[string]any{"inputs": all})
		status, answer := post(t, address, "/v2/models/clicks/infer", body)
		var got struct{ Outputs []struct{ Data []float32 } }
		if err := json.Unmarshal(answer, &got); err != nil {
			t.Error(err)
		}
		if len(got.Outputs) != 1 {
			return status, string(answer), nil
		}
		return status, string(answer), got.Outputs[0].Data
	}
	var clients sync.WaitGroup
	for range 4 {
		clients.Go(func() {
			for lo := 0; lo < rows; lo += 60 {
				status, answer, got := ask(lo, lo+60, func(map[string]any) {})
				if status != http.StatusOK || !slices.Equal(got, want[lo:lo+60]) {
					t.Errorf("rows from %d on: status %d, %.300s", lo, status, answer)
				}
			}
		})
	}
	clients.Wait()
	for says, change := range map[string]func(map[string]any){
		`input \"likes\" is missing`: func(in map[string]any) { delete(in, "likes") },
		`row 2: column likes: \"0.5\": 1 weights, and the column tags has 2 ids`: func(in map[string]any) {
			in["tags"], in["likes"] = []string{"a", "b|c"}, []string{"1", "0.5"}
		},
		"a mean needs weights of at least 0": func(in map[string]any) {
			in["tags"], in["likes"] = []string{"a", "b|c"}, []string{"1", "-1|2"}
		},
		"the weights of the 1 ids are 0": func(in map[string]any) { in["visits"] = []float32{1, 0} },
		"behind \\\":\\\" stands the weight of an id: not a number": func(in map[string]any) {
			in["user"] = []string{"a:x", "b"}
		},
		`it has [\"user\" \"tags\" \"shop\" \"likes\" \"visits\"]`: func(in map[string]any) {
			in["price"] = likes[:2]
		},
	} {
		status, answer, _ := ask(100, 102, change)
		if status != http.StatusBadRequest || !strings.Contains(answer, says) {
			t.Errorf("%s: status %d, %s", says, status, answer)
		}
	}
	r, err := http.Get(address + "/v2/models/clicks")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	var described struct{ Inputs []struct{ Name string } }
	if err := json.NewDecoder(r.Body).Decode(&described); err != nil || len(described.Inputs) != 5 ||
		described.Inputs[2].Name != "likes" {
		t.Errorf("%+v, error %v", described, err)
	}
}
