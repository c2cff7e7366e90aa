package predict

import (
	"slices"
	"strings"

	"tandem/algo/job"
	nn "tandem/algo/numeric/model"
	"tandem/sim/cost"
	"tandem/sim/graph"
	"tandem/sim/model"
	"tandem/sim/param"
)

// Job is what a prediction is about: a training job on a cluster. What is trained is a Model or, if that is
// nil, a Workload with the Layout of its network.
type Job struct {
	job.Job // its roles' ranks are the accelerators
	// Hardware is the cluster with its system software.
	Hardware *cost.Hardware
	Model    *model.Model
	Rows     model.Format // of embedding rows in memory, for a Model; empty: the model's
	Workload cost.Workload
	Layout   *nn.Layout
	// Placement is how some tables of a step graph are to be placed; the others are placed by cost.
	Placement []graph.Rule
	// placement repeats the placement of tables at the middle of the box, which a user fixes before the
	// unknowns are known; nil: as Placement says.
	placement []graph.Rule
}

// modelPrefix begins the names of the parameters of a model.
const modelPrefix = "model"

// creation begins the names of the parameters of new rows.
const creation = "system.embedding-ps.create."

// Parameters returns all parameters of a prediction, as a view: a change of a parameter is one of the job's
// hardware or model.
func (j *Job) Parameters() param.Vector {
	v := j.HardwareParameters()
	if j.Model != nil {
		v = append(v, param.Collect(modelPrefix, j.Model)...)
	}
	return v
}

// HardwareParameters returns the parameters of the hardware and its software, which come first among all.
// Those of new rows are left out where no row is new, and those of hot rows where none is hot.
func (j *Job) HardwareParameters() param.Vector {
	v := j.Hardware.Parameters()
	if j.Workload.Created == 0 {
		v = slices.DeleteFunc(v, func(e param.Entry) bool { return strings.HasPrefix(e.Name, creation) })
	}
	if j.HasHotRows() {
		v = append(v, j.Hardware.HotParameters()...)
	}
	if j.HasRowsOnGPU() {
		v = append(v, j.Hardware.GPURowParameters()...)
	}
	return v
}

// At returns the job at a point of the box that its Parameters span.
func (j *Job) At(p param.Point) *Job {
	c := j.clone()
	c.Parameters().Fix(p)
	c.describe()
	return c
}

// Improved returns the job with all parameters of a group better by a factor.
func (j *Job) Improved(group string, factor float64) *Job {
	c := j.clone()
	c.Parameters().Improve(group, factor)
	c.describe()
	return c
}

// clone returns a job whose parameters can be changed without an effect on j.
func (j *Job) clone() *Job {
	c := *j
	c.Hardware = j.Hardware.Clone()
	if j.Model != nil {
		m := *j.Model
		c.Model = &m
	}
	return &c
}

// describe derives workload and layout from the model.
func (j *Job) describe() {
	if j.Model == nil {
		return
	}
	rows := j.Rows
	if rows == "" {
		rows = j.Model.Precisions.Rows
	}
	var hot job.Hot
	if j.HasHotRows() {
		hot = j.Job.Rows.Hot
	}
	j.Workload, j.Layout = cost.ModelWorkload(j.Model, rows, hot), j.Model.Layout()
}

// tablesVary reports whether the points of the box have different numbers of tables.
func (j *Job) tablesVary() bool {
	return slices.ContainsFunc(param.Collect(modelPrefix, j.Model), func(e param.Entry) bool {
		return e.Name == modelPrefix+".count" && !e.Known()
	})
}
