package unit

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// use says in which texts a unit name may appear.
type use uint8

const (
	readOnly  use = iota // parsed, never written
	exactOnly            // written by MarshalText, and by String where nothing is rounded
	always               // written in rounded texts too
)

// scale is one unit name of a quantity.
type scale struct {
	name   string
	factor float64 // size in the quantity's base unit
	use    use
}

// quantity describes the text forms of one type. Its scales of use always ascend and begin with the base
// unit, whose factor is 1.
type quantity struct {
	name   string // in errors, such as "bandwidth"
	scales []scale
}

// split cuts a text such as "1.5ms" into its number and its unit.
func split(text string) (number, name string) {
	text = strings.TrimSpace(text)
	end := len(text)
	for i, r := range text {
		if strings.ContainsRune("+-.0123456789", r) {
			continue
		}
		// An exponent belongs to the number; the E of EFLOP/s does not.
		exponent := i+1 < len(text) && strings.ContainsRune("+-0123456789", rune(text[i+1]))
		if (r == 'e' || r == 'E') && exponent {
			continue
		}
		end = i
		break
	}
	return text[:end], strings.TrimSpace(text[end:])
}

// find returns the factor of the named unit.
func (q *quantity) find(name string) (factor float64, ok bool) {
	for _, s := range q.scales {
		if s.name == name {
			return s.factor, true
		}
	}
	return 0, false
}

// accepted lists the unit names for an error message.
func (q *quantity) accepted() string {
	names := make([]string, len(q.scales))
	for i, s := range q.scales {
		names[i] = s.name
	}
	return strings.Join(names, ", ")
}

// locate returns the number of a text and the factor of its unit, which is 1 for a bare 0.
func (q *quantity) locate(text string) (number string, factor float64, err error) {
	number, name := split(text)
	if _, err := strconv.ParseFloat(number, 64); err != nil {
		return "", 0, fmt.Errorf("unit: %q is not a %s: want a number and one of %s",
			text, q.name, q.accepted())
	}
	if name == "" {
		if value, _ := strconv.ParseFloat(number, 64); value == 0 {
			return number, 1, nil
		}
		return "", 0, fmt.Errorf("unit: %s %q has no unit: add one of %s", q.name, text, q.accepted())
	}
	factor, ok := q.find(name)
	if !ok {
		return "", 0, fmt.Errorf("unit: %s %q has the unknown unit %q: use one of %s",
			q.name, text, name, q.accepted())
	}
	return number, factor, nil
}

// parseFloat reads a quantity of real numbers.
func (q *quantity) parseFloat(text string) (float64, error) {
	number, factor, err := q.locate(text)
	if err != nil {
		return 0, err
	}
	value, _ := strconv.ParseFloat(number, 64)
	value *= factor
	if math.IsInf(value, 0) {
		return 0, fmt.Errorf("unit: %s %q is out of range", q.name, text)
	}
	return value, nil
}

// parseInt reads a quantity of whole numbers. A whole number of any unit is read exactly; a fraction is
// rounded to the nearest base unit.
func (q *quantity) parseInt(text string) (int64, error) {
	number, factor, err := q.locate(text)
	if err != nil {
		return 0, err
	}
	if whole, err := strconv.ParseInt(number, 10, 64); err == nil {
		size := int64(factor)
		if product := whole * size; product/size == whole {
			return product, nil
		}
		return 0, fmt.Errorf("unit: %s %q is out of range", q.name, text)
	}
	value, _ := strconv.ParseFloat(number, 64)
	value = math.Round(value * factor)
	// 2^63 is exact in float64, so these are the true limits of an int64.
	if value < -(1<<63) || value >= 1<<63 {
		return 0, fmt.Errorf("unit: %s %q is out of range", q.name, text)
	}
	return int64(value), nil
}

// exact returns the number and unit of the shortest text that reads back as a value; among equally short
// texts, the later unit wins. digits is the value in the base unit, and same reports whether a text reads
// back as the value.
func (q *quantity) exact(value float64, digits string, same func(text string) bool) (number, unit string) {
	if value == 0 {
		return "0", q.scales[0].name
	}
	for _, s := range q.scales {
		candidate := digits
		if s.factor != 1 {
			candidate = strconv.FormatFloat(value/s.factor, 'f', -1, 64)
		}
		if s.use == readOnly || number != "" && len(candidate) > len(number) {
			continue
		}
		if s.factor == 1 || same(candidate+s.name) {
			number, unit = candidate, s.name
		}
	}
	return number, unit
}

// exactFloat returns the number and unit of the shortest text that parseFloat reads back as a value.
func (q *quantity) exactFloat(value float64) (number, unit string) {
	return q.exact(value, strconv.FormatFloat(value, 'f', -1, 64), func(text string) bool {
		back, err := q.parseFloat(text)
		return err == nil && back == value
	})
}

// exactInt returns the number and unit of the shortest text that parseInt reads back as a value.
func (q *quantity) exactInt(value int64) (number, unit string) {
	return q.exact(float64(value), strconv.FormatInt(value, 10), func(text string) bool {
		back, err := q.parseInt(text)
		return err == nil && back == value
	})
}

// exactDigits is the length of the longest number that String does not round.
const exactDigits = 5

// shortFloat returns the text for people of a real number.
func (q *quantity) shortFloat(value float64) string {
	number, unit := q.exactFloat(value)
	return q.short(value, number, unit)
}

// shortInt returns the text for people of a whole number.
func (q *quantity) shortInt(value int64) string {
	number, unit := q.exactInt(value)
	return q.short(float64(value), number, unit)
}

// short returns a text for people: number and unit if the number has at most exactDigits characters,
// otherwise four significant digits in the largest unit that is not above the value.
func (q *quantity) short(value float64, number, unit string) string {
	if len(number) <= exactDigits {
		return number + unit
	}
	chosen := scale{name: q.scales[0].name, factor: 1}
	for _, s := range q.scales {
		if s.use == always && math.Abs(value) >= s.factor {
			chosen = s
		}
	}
	rounded, _ := strconv.ParseFloat(strconv.FormatFloat(value/chosen.factor, 'g', 4, 64), 64)
	return strconv.FormatFloat(rounded, 'f', -1, 64) + chosen.name
}
