package defaults

import (
	"bufio"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sort"

	"tandem/algo/rng"
)

// generated is a table whose labels follow from pairs of columns, drawn from a seed.
type generated struct {
	name    string
	rows    int
	bias    float64 // of the log odds
	columns []string
	// draw returns a row, one text or number a column, and its log odds without the bias.
	draw func(g *draws) (row []any, odds float64)
}

// draws are the random numbers of a table.
type draws struct {
	*rand.Rand
	name   string
	shares map[[2]int][]float64 // cumulated, by number of ids and exponent in tenths
}

// zipf draws one of n ids with shares proportional to 1/rank to the power of tenths/10.
func (g *draws) zipf(n, tenths int) int {
	key := [2]int{n, tenths}
	shares := g.shares[key]
	if shares == nil {
		sum := 0.0
		for rank := range n {
			sum += math.Pow(float64(rank+1), -float64(tenths)/10)
			shares = append(shares, sum)
		}
		g.shares[key] = shares
	}
	return min(sort.SearchFloat64s(shares, g.Float64()*shares[n-1]), n-1)
}

// effect is a hidden number of some ids, normal with variance 1.
func (g *draws) effect(purpose string, ids ...int) float64 {
	keys := make([]uint64, len(ids))
	for i, id := range ids {
		keys[i] = uint64(id)
	}
	return rng.New(1, g.name+purpose, keys...).NormFloat64()
}

// pick is a hidden number of some ids, one of n.
func (g *draws) pick(n int, purpose string, ids ...int) int {
	return int(float64(n) * (1 + math.Erf(g.effect(purpose, ids...)/math.Sqrt2)) / 2)
}

// generatedTables are the tables with effects of pairs. None had a part in choosing a default.
var generatedTables = []generated{
	// The label is whether the hidden bits of two columns differ, with noise; others hardly matter.
	{"parity", 20_000, 0, []string{"sensor", "batch", "line", "shift", "operator"},
		func(g *draws) ([]any, float64) {
			sensor, batch, line := g.zipf(30, 5), g.zipf(80, 5), g.IntN(12)
			shift, operator := g.IntN(3), g.zipf(400, 10)
			odds := 2.0
			if g.effect("sensor", sensor) > 0 != (g.effect("batch", batch) > 0) {
				odds = -odds
			}
			odds += 0.3*g.effect("line", line) + 0.3*g.effect("operator", operator)
			return []any{sensor, batch, line, shift, operator}, odds
		}},
	// Nine columns of ids: people of nested units ask for resources that are common in their units.
	{"access", 30_000, 3.2, []string{"resource", "manager", "division", "unit", "department", "title",
		"family", "description", "code"},
		func(g *draws) ([]any, float64) {
			department := g.zipf(300, 8)
			unit := g.pick(100, "unit", department)
			division := g.pick(30, "division", unit)
			manager := g.pick(2500, "manager", department, g.zipf(12, 6))
			title := g.pick(250, "title", department, g.zipf(6, 8))
			family := g.pick(50, "family", title)
			description := g.pick(1500, "description", title, unit)
			resource := g.zipf(4000, 8)
			if g.Float64() < 0.7 {
				resource = g.pick(4000, "usual", department, g.zipf(10, 8))
			}
			odds := 0.7*g.effect("resource", resource) + 0.6*g.effect("manager", manager) +
				0.9*g.effect("resource, department", resource, department) +
				0.7*g.effect("resource, family", resource, family) + 0.7*g.effect("unit, title", unit, title)
			return []any{resource, manager, division, unit, department, title, family, description, title},
				odds
		}},
	// Users and items have hidden tastes; age groups like some kinds.
	{"tastes", 40_000, -0.6, []string{"user", "item", "age", "kind", "weekday"},
		func(g *draws) ([]any, float64) {
			user, item := g.zipf(2000, 6), g.zipf(300, 8)
			age, kind := g.pick(7, "age", user), g.pick(14, "kind", item)
			odds := 0.6*g.effect("user", user) + 0.6*g.effect("item", item) +
				0.7*g.effect("age, kind", age, kind)
			for side := range 2 {
				odds += 0.8 * g.effect("user's", user, side) * g.effect("item's", item, side)
			}
			return []any{user, item, age, kind, g.IntN(7)}, odds
		}},
	// Each segment has a range of prices that it buys in.
	{"prices", 20_000, -0.4, []string{"segment", "brand", "shop", "price", "stock"},
		func(g *draws) ([]any, float64) {
			segment, brand, shop := g.zipf(25, 7), g.zipf(120, 9), g.zipf(40, 8)
			price, stock := math.Exp(3+0.6*g.NormFloat64()), g.Float64()*100
			away := math.Log(price) - 3 - 0.6*g.effect("segment", segment)
			odds := 1 - 2.5*away*away + 0.5*g.effect("brand", brand) + 0.3*g.effect("shop", shop)
			return []any{"s" + fmt.Sprint(segment), brand, shop, fmt.Sprintf("%.2f", price),
				fmt.Sprintf("%.1f", stock)}, odds
		}},
	// Rules of three columns decide, as people write them.
	{"rules", 20_000, -1, []string{"country", "device", "plan", "source", "language", "browser", "hour",
		"version"},
		func(g *draws) ([]any, float64) {
			country, device, plan, source := g.zipf(40, 9), g.zipf(6, 5), g.zipf(4, 5), g.zipf(25, 8)
			language, browser := g.pick(15, "language", country), g.zipf(9, 9)
			hour, version := g.IntN(24), g.zipf(60, 7)
			odds := 0.0
			if country < 6 && device < 2 && hour >= 18 {
				odds += 1.8
			}
			if plan == 0 && g.effect("source", source) > 0.3 {
				odds += 1.5
			}
			if browser > 1 && g.effect("version", version) > 0 && device > 0 {
				odds -= 1.5
			}
			odds += 0.3 * g.effect("language", language)
			return []any{country, device, plan, source, language, browser, hour, version}, odds
		}},
	// A user comes back to some items and likes or dislikes each of them.
	{"habits", 40_000, -1, []string{"user", "item", "shop", "day", "channel"},
		func(g *draws) ([]any, float64) {
			user := g.zipf(1500, 7)
			item := g.pick(800, "habit", user, g.zipf(8, 5))
			shop, day, channel := g.pick(30, "shop", item), g.IntN(7), g.IntN(4)
			odds := 0.3*g.effect("user", user) + 0.4*g.effect("item", item) +
				1.3*g.effect("user, item", user, item) + 0.4*g.effect("shop, day", shop, day)
			return []any{user, item, shop, day, channel}, odds
		}},
}

// write writes the table to a folder as CSV with the label click, and returns the name of the file.
func (t *generated) write(folder string) (string, error) {
	name := filepath.Join(folder, t.name+".csv")
	out, err := os.Create(name)
	if err != nil {
		return "", err
	}
	defer out.Close()
	w := bufio.NewWriter(out)
	fmt.Fprint(w, "click")
	for _, column := range t.columns {
		fmt.Fprint(w, ",", column)
	}
	g := &draws{rng.New(1, t.name), t.name, map[[2]int][]float64{}}
	for range t.rows {
		row, odds := t.draw(g)
		click := 0
		if g.Float64() < 1/(1+math.Exp(-odds-t.bias)) {
			click = 1
		}
		fmt.Fprint(w, "\n", click)
		for _, value := range row {
			fmt.Fprint(w, ",", value)
		}
	}
	fmt.Fprintln(w)
	return name, errors.Join(w.Flush(), out.Close())
}
