package system

import "testing"

func TestEveryBuiltInProfileLoads(t *testing.T) {
	for _, name := range Systems.Names() {
		p, err := Load(name)
		if err != nil {
			t.Error(err)
		} else if p.Name != name {
			t.Errorf("file %s holds profile %s", name, p.Name)
		}
	}
}
