package cluster

import "testing"

// The data loader is on one host that stands for all of its hosts; other hosts stand for themselves.
func TestHostsStandForThemselves(t *testing.T) {
	for _, loaders := range []int{1, 2, 3} {
		s, j := small(), training("sync", 1)
		s.Loaders.Count, s.EmbeddingWorkers.Count = loaders, 2
		layout, w := tower(t), clicks()
		p := pricesOf(t, s, &j, layout, &w)
		cfg, err := j.RoleConfig(layout, 0, 10)
		if err != nil {
			t.Fatal(err)
		}
		r, err := newRates(nil)
		if err != nil {
			t.Fatal(err)
		}
		all, err := newTopology(p, r, cfg, nil)
		if err != nil {
			t.Fatal(err)
		}
		for i, h := range all.hosts {
			want := 1
			if h.class == loaderHosts {
				want = loaders
			}
			if h.nodes != want {
				t.Errorf("%d loader hosts: host %d, of class %v, stands for %d, want %d", loaders, i, h.class,
					h.nodes, want)
			}
		}
	}
}
