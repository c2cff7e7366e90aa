package main

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tandem/algo/job"
	"tandem/algo/numeric/model"
	"tandem/internal/modeltest"
	"tandem/runtime/inference/oip"
)

// orders are the columns of a table as programs send them: whole numbers as ids and as numbers, some of 64
// bits, and ids that are floating-point numbers because some are missing.
type orders struct {
	users, counts []int64
	shops, prices []float64 // NaN: missing
}

// write writes the table with several labels and weights, and returns its path.
func (o *orders) write(t *testing.T) string {
	t.Helper()
	var text strings.Builder
	text.WriteString("user,shop,price,count,stars,share,clicks,views,weight\n")
	or := func(x float64, form string) string {
		if math.IsNaN(x) {
			return ""
		}
		return fmt.Sprintf(form, x)
	}
	for i, user := range o.users {
		fmt.Fprintf(&text, "%d,%s,%s,%d,%g,%g,%d,%d,%d\n", user, or(o.shops[i], "%.1f"),
			or(o.prices[i], "%v"), o.counts[i], 3*float64(i%7)-40, float64(i%11)/10, i%3, 3+i%5, i%4)
	}
	path := filepath.Join(t.TempDir(), "orders.csv")
	if err := os.WriteFile(path, []byte(text.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// request returns a request for all rows by gRPC, with typed values.
func (o *orders) request() *oip.ModelInferRequest {
	q := &oip.ModelInferRequest{ModelName: "tandem"}
	add := func(name, datatype string, c *oip.InferTensorContents) {
		q.Inputs = append(q.Inputs, &oip.ModelInferRequest_InferInputTensor{Name: name, Datatype: datatype,
			Shape: []int64{int64(len(o.users)), 1}, Contents: c})
	}
	add("user", "INT64", &oip.InferTensorContents{Int64Contents: o.users})
	add("shop", "FP64", &oip.InferTensorContents{Fp64Contents: o.shops})
	add("price", "FP64", &oip.InferTensorContents{Fp64Contents: o.prices})
	add("count", "INT64", &oip.InferTensorContents{Int64Contents: o.counts})
	return q
}

// body returns the same request in JSON, where a missing number is null.
func (o *orders) body(t *testing.T) []byte {
	t.Helper()
	nullable := func(values []float64) (all []*float64) {
		for _, x := range values {
			if all = append(all, &x); math.IsNaN(x) {
				all[len(all)-1] = nil
			}
		}
		return all
	}
	var inputs []any
	for _, in := range []struct {
		name, datatype string
		data           any
	}{{"user", "INT64", o.users}, {"shop", "FP64", nullable(o.shops)}, {"price", "FP64", nullable(o.prices)},
		{"count", "INT64", o.counts}} {
		inputs = append(inputs, map[string]any{"name": in.name, "datatype": in.datatype, "data": in.data,
			"shape": []int{len(o.users), 1}})
	}
	body, err := json.Marshal(map[string]any{"inputs": inputs})
	if err != nil {
		t.Fatal(err)
	}
	return body
}

// A model of numbers, of shares, of clicks beside impressions or of weighted rows answers with the
// predictions of its file, in JSON and by gRPC, for the datatypes that programs have.
func TestModelsOfAnyLabelsAreServed(t *testing.T) {
	o := &orders{}
	for i := range 200 {
		shop, price := float64(i%9), float64(i%13)/7
		if i%9 == 8 {
			shop = math.NaN()
		}
		if i%10 == 9 {
			price = math.NaN()
		}
		o.users, o.counts = append(o.users, int64(i%17)<<57+int64(i%17)), append(o.counts, 1<<24+int64(i%5))
		o.shops, o.prices = append(o.shops, shop), append(o.prices, price)
	}
	path := o.write(t)
	for _, c := range []struct {
		name   string
		change func(table *job.Table, network *model.Spec)
		below  float32 // what every prediction is below
	}{
		{"numbers", func(table *job.Table, network *model.Spec) {
			table.Label, table.LabelValues, network.Loss = "stars", job.NumberLabels, model.SquaredLoss
			network.Heads = []model.Head{{Center: -31, Scale: 6}}
		}, 0},
		{"shares", func(table *job.Table, _ *model.Spec) {
			table.Label, table.LabelValues = "share", job.ShareLabels
		}, 1},
		{"impressions", func(table *job.Table, _ *model.Spec) {
			table.Label, table.Impressions = "clicks", "views"
		}, 1},
		{"weighted numbers", func(table *job.Table, network *model.Spec) {
			table.Label, table.LabelValues, table.Weight = "stars", job.NumberLabels, "weight"
			network.Loss, network.Heads = model.SquaredLoss, []model.Head{{Center: -31, Scale: 6}}
		}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			j := job.Default()
			j.Name, j.Cluster = "orders", job.PersiaCluster()
			j.Data = job.Data{Kind: job.KindCSV, Path: path, Cache: job.CacheOff, CSV: &job.Table{
				Slots:   []job.IDColumn{{Column: "user"}, {Column: "shop", Whole: true}},
				Numeric: []string{"price", "count"}, Missing: []string{""}}}
			c.change(j.Data.CSV, &j.Model.Spec)
			folder, _ := modeltest.Train(t, j)
			want := expected(t, path, folder)
			if most := slices.Max(want); most >= c.below || most == slices.Min(want) {
				t.Fatalf("predictions from %v to %v", slices.Min(want), most)
			}
			http, grpc, _ := startBoth(t, folder)
			if got := answerInJSON(t, http, o.body(t)); !slices.Equal(got, want) {
				t.Errorf("JSON: %v, want %v", got, want)
			}
			a := new(oip.ModelInferResponse)
			err := dial(t, grpc).Invoke(t.Context(), servicePath+"ModelInfer", o.request(), a)
			if err != nil {
				t.Fatal(err)
			}
			if got := answered(a); !slices.Equal(got, want) {
				t.Errorf("gRPC: %v, want %v", got, want)
			}
		})
	}
}

// answerInJSON returns the predictions that a server answers to a request in JSON.
func answerInJSON(t *testing.T, address string, body []byte) []float32 {
	t.Helper()
	status, text := post(t, "http://"+address, "/v2/models/tandem/infer", body)
	var got struct {
		Outputs []struct {
			Data []float32 `json:"data"`
		} `json:"outputs"`
	}
	if err := json.Unmarshal(text, &got); err != nil || status != http.StatusOK || len(got.Outputs) != 1 {
		t.Fatalf("status %d, %.300s, error %v", status, text, err)
	}
	return got.Outputs[0].Data
}
