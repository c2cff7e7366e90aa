package trial

import (
	"slices"
	"sync"

	"go.yaml.in/yaml/v3"

	"tandem/algo/job"
	"tandem/datasets"
	"tandem/experiments/internal/report"
	"tandem/internal/parallel"
)

// cache holds the data sets that were opened last: trainings that are compared follow each other and share
// their rows.
type cache struct {
	folder string // of real data; empty: the current one

	mu   sync.Mutex
	kept []*opened // the latest last
}

// opened is a data set that is in memory, or is being opened.
type opened struct {
	key  string
	once sync.Once
	data *datasets.Dataset
	err  error
}

func newCache(o report.Options) *cache { return &cache{folder: o.DataFolder} }

// open returns a data set, whose batches must not be changed.
func (c *cache) open(data job.Data) (*datasets.Dataset, error) {
	text, err := yaml.Marshal(data)
	if err != nil {
		return nil, err
	}
	o := c.find(string(text))
	o.once.Do(func() { o.data, o.err = datasets.Open(data, c.folder) })
	return o.data, o.err
}

// find returns the entry of a key and makes it the latest.
func (c *cache) find(key string) *opened {
	c.mu.Lock()
	defer c.mu.Unlock()
	o := &opened{key: key}
	if at := slices.IndexFunc(c.kept, func(o *opened) bool { return o.key == key }); at >= 0 {
		o = c.kept[at]
		c.kept = slices.Delete(c.kept, at, at+1)
	}
	c.kept = append(c.kept, o)
	if most := parallel.Cores() + 1; len(c.kept) > most { // one for each training, and the next
		c.kept = slices.Delete(c.kept, 0, 1)
	}
	return o
}
