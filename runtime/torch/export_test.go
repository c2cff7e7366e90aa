package torch

import (
	"encoding/json"

	"tandem/algo/job"
	"tandem/algo/numeric/batch"
	"tandem/algo/numeric/model"
)

// EngineOn is Engine on devices by their names in torch: "cpu" has the copies that a GPU has.
func (m *Modules) EngineOn(devices ...string) func(*job.Job, *batch.Schema) (model.Engine, error) {
	return func(j *job.Job, schema *batch.Schema) (model.Engine, error) {
		c := m.config(j, schema)
		c.Devices = devices
		text, err := json.Marshal(c)
		if err != nil {
			return nil, err
		}
		p, err := m.processes(text)
		if err != nil {
			return nil, err
		}
		return newEngine(p, j.Model.Spec, schema)
	}
}
