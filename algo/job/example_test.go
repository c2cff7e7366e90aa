package job_test

import (
	"fmt"

	"tandem/algo/job"
)

// A job file holds only differences from the defaults. Its sections are the fields of a Job.
func Example() {
	j, err := job.Parse([]byte(`
data: {kind: csv, path: clicks.csv, csv: {slots: [{column: user}, {column: item}], label: clicked}}
model: {kind: deepfm, embedding-dim: 8}
rows: {precision: bf16}
training: {mode: hybrid, staleness: 3, global-batch: 256}
roles: {ranks: 2}
`), "clicks.yaml")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(j.Name, j.Training.Mode, j.Model.Kind, j.Rows.Precision)
	fmt.Println("batches in flight per rank:", j.Depth())
	fmt.Println("simulated on:", j.Cluster.Accelerator)
	// Output:
	// clicks hybrid deepfm bf16
	// batches in flight per rank: 4
	// simulated on: V100-SXM2-32GB
}

// An error names file, line, key and what to write instead.
func ExampleParse_unknownKey() {
	for _, training := range []string{"stalness: 3", "ranks: 2"} {
		_, err := job.Parse([]byte("data: {kind: adult-income}\ntraining: {"+training+"}\n"), "job.yaml")
		fmt.Println(err)
	}
	// Output:
	// job.yaml:2: training: unknown key "stalness": did you mean "staleness"?
	// job.yaml:2: training: unknown key "ranks": ranks is now roles.ranks
}

// A program starts from a job of the package, changes it, and checks it.
func ExampleJob_Validate() {
	j := job.AdultIncome()
	j.Roles.Ranks, j.Training.Groups = 3, 12
	fmt.Println(j.Validate())

	j.Training.Groups = 8
	fmt.Println(j.Validate())
	fmt.Println(j.GroupsPerRank(), "groups a rank,", j.TotalGroups(), "in all")
	// Output:
	// training.groups = 12; want a power of two
	// <nil>
	// 2 groups a rank, 6 in all
}
