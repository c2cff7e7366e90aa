package main

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"tandem/sim/cost"
)

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

// Where a cluster has no price, the report names the parts that lack one, and setting just these gives it
// one. A part that the cluster does not have takes no price.
func TestPricesThatAreMissingCanBeSet(t *testing.T) {
	missing := 0
	for _, name := range cost.Clusters.Names() {
		args := "--samples 1 --seeds 1 --steps 8 --model criteo --gpus 8 --preset " + name
		if price := runJSON(t, args)["cost_usd_per_hour"]; price != nil {
			continue
		}
		missing++
		text := strings.Join(strings.Fields(runText(t, args)), " ")
		_, list, found := strings.Cut(text, "no price is published of ")
		list, _, _ = strings.Cut(list, ". ")
		if !found {
			t.Fatalf("%s: %s", name, text)
		}
		for _, part := range strings.Split(list, ", ") {
			part, _, _ = strings.Cut(part, " ")
			args += fmt.Sprintf(" --set %s%s=7", part, cost.PriceSetting)
		}
		if price, known := runJSON(t, args)["cost_usd_per_hour"].(float64); !known || !(price > 7) {
			t.Errorf("%s: $ %v an hour with all prices given", args, price)
		}
	}
	if missing == 0 {
		t.Error("every cluster has a price; try one that has none")
	}
	text := refusal(t, "run", "--preset", "dgx-h100", "--set", "embedding-ps.dollars-per-hour=3")
	if !strings.Contains(text, `unknown parameter "embedding-ps.dollars-per-hour"`) {
		t.Error(text)
	}
}

// The price of accelerators of another kind is named as their parameters are, and can be set.
func TestPriceOfMixedAcceleratorsCanBeSet(t *testing.T) {
	profile, err := os.ReadFile("../../sim/device/profiles/accelerators/A100-SXM4-40GB.yaml")
	if err != nil {
		t.Fatal(err)
	}
	price := regexp.MustCompile(`(?m)^dollars-per-hour:.*\n(  .*\n)*`)
	unpriced := ownFile(t, "own.yaml", price.ReplaceAllString(string(profile), ""))
	args := "--samples 1 --seeds 1 --steps 8 --model criteo --gpus 16 --preset " + ownFile(t, "mixed.yaml",
		fmt.Sprintf("preset: persia-gcp\nmixed: [{accelerator: %q, servers: 1}]", unpriced))
	if price := runJSON(t, args)["cost_usd_per_hour"]; price != nil {
		t.Errorf("$ %v an hour", price)
	}
	const part = "mixed.0.accelerator"
	text := strings.Join(strings.Fields(runText(t, args)), " ")
	if !strings.Contains(text, "no price is published of "+part+" (") {
		t.Error(text)
	}
	args += " --set " + part + cost.PriceSetting + "="
	one, ten := runJSON(t, args+"1")["cost_usd_per_hour"], runJSON(t, args+"10")["cost_usd_per_hour"]
	if d := ten.(float64) - one.(float64); d < 71.99 || d > 72.01 {
		t.Errorf("8 accelerators that cost $ 9 more cost $ %v more", d)
	}
}

// The processors of a server are in its price.
func TestProcessorsAsDevicesAreInThePriceOfTheirServer(t *testing.T) {
	d := runJSON(t, "--preset cpu-ps --gpus 2 --samples 1 --seeds 1 --steps 8")
	// 2 servers, 64 hosts of embedding workers, 240 of PSs and 16 of loaders, of $ 1.6 each.
	if price := d["cost_usd_per_hour"].(float64); price < 515.1 || price > 515.3 {
		t.Errorf("$ %v an hour, want 515.2", price)
	}
}
