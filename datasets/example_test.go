package datasets_test

import (
	"fmt"
	"log"
	"os"
	"path/filepath"

	"tandem/algo/job"
	"tandem/datasets"
)

// Clicks are a table with two id columns, one of them with several ids per row, a number and a
// label.
const clicks = `user,tags,age,clicked
ann,sport|news,34,1
bob,news,51,0
ann,music,34,0
cid,,28,1
bob,sport|music,51,1
`

// A user's own table needs a description of its columns. The last rows of the file are the test
// rows.
func ExampleOpen() {
	folder, err := os.MkdirTemp("", "datasets")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(folder)
	if err := os.WriteFile(filepath.Join(folder, "clicks.csv"), []byte(clicks), 0o644); err != nil {
		log.Fatal(err)
	}
	data, err := datasets.Open(job.Data{
		Kind: job.KindCSV, Path: "clicks.csv",
		CSV: &job.Table{
			Slots:   []job.IDColumn{{Column: "user"}, {Column: "tags", Separator: "|"}},
			Numeric: []string{"age"}, Label: "clicked",
		},
	}, folder)
	if err != nil {
		log.Fatal(err)
	}
	for _, slot := range data.Schema.Slots {
		fmt.Println("ids:", slot.Name)
	}
	fmt.Println("numbers:", data.Schema.Dense, "labels:", data.Schema.Labels)
	fmt.Printf("%d training rows, %d test rows\n", data.Train.Samples, data.Test.Samples)
	fmt.Printf("age: mean %.2f, deviation %.2f\n", data.Scaling[0].Mean, data.Scaling[0].Std)
	fmt.Println("bob is the user of row 1:",
		data.Train.Slots[0].SampleIDs(1)[0] == datasets.CategoryID("bob"))
	// Output:
	// ids: user
	// ids: tags
	// numbers: [age] labels: [clicked]
	// 4 training rows, 1 test rows
	// age: mean 36.75, deviation 8.58
	// bob is the user of row 1: true
}

// The batches of a run follow from the job: here two epochs of two global batches each, in the
// order of the file.
func ExampleTrainingSource() {
	j := job.AdultIncome()
	j.Training.GlobalBatch, j.Training.Epochs, j.Training.Shuffle = 20_000, 2, false
	data, err := datasets.Open(j.Data, "")
	if err != nil {
		log.Fatal(err)
	}
	source, err := datasets.TrainingSource(data, &j)
	if err != nil {
		log.Fatal(err)
	}
	for step := range source.Steps() {
		batch, err := source.Read(step)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("step %d: %d samples, %d slots\n", step, batch.Samples, len(batch.Slots))
	}
	// Output:
	// step 0: 20000 samples, 8 slots
	// step 1: 12561 samples, 8 slots
	// step 2: 20000 samples, 8 slots
	// step 3: 12561 samples, 8 slots
}

// Without a description, the kind of a file can be guessed; package infer guesses the columns of a table.
func ExampleReadHead() {
	folder, err := os.MkdirTemp("", "datasets")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(folder)
	path := filepath.Join(folder, "clicks.csv")
	if err := os.WriteFile(path, []byte(clicks), 0o644); err != nil {
		log.Fatal(err)
	}
	head, err := datasets.ReadHead(path, 10)
	if err != nil {
		log.Fatal(err)
	}
	kind, _ := head.Kind()
	fmt.Println(kind)
	// Output:
	// csv
}
