package main

import "testing"

// Every cluster that a plan chooses by default has a price, whose parts name a source and a date, and --set
// of one changes it.
func TestClustersToRentHavePrices(t *testing.T) {
	for _, name := range rentable() {
		args := "--samples 1 --seeds 1 --steps 8 --preset " + name
		d := runJSON(t, args+" --parameters")
		price, known := d["cost_usd_per_hour"].(float64)
		if !known || !(price > 0) {
			t.Errorf("%s: $ %v an hour", name, d["cost_usd_per_hour"])
			continue
		}
		for _, p := range d["parameters"].([]any) {
			parameter := p.(map[string]any)
			if parameter["unit"] == "$/h" && (parameter["source"] == "" || parameter["kind"] == "") {
				t.Errorf("%s: %v", name, parameter)
			}
		}
		gpus := d["gpus"].(float64)
		mid := 0.0
		for _, p := range d["parameters"].([]any) {
			if parameter := p.(map[string]any); parameter["name"] == "accelerator.dollars-per-hour" {
				mid = parameter["value"].(float64)
			}
		}
		own := runJSON(t, args+" --set accelerator.dollars-per-hour=9")["cost_usd_per_hour"].(float64)
		if want := price + gpus*(9-mid); own < 0.999*want || own > 1.001*want {
			t.Errorf("%s: $ %v an hour with GPUs at $ 9 instead of %v; without $ %v", name, own, mid, price)
		}
	}
}
