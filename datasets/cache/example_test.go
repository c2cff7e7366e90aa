package cache_test

import (
	"fmt"
	"log"
	"os"
	"path/filepath"

	"tandem/algo/job"
	"tandem/datasets"
	"tandem/datasets/cache"
)

// A job that names a cache folder stores the columns of its files there.
func ExampleFolder_List() {
	folder, err := os.MkdirTemp("", "cache")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(folder)
	file := filepath.Join(folder, "clicks.csv")
	if err := os.WriteFile(file, []byte("user,clicked\nann,1\nbob,0\nann,0\n"), 0o644); err != nil {
		log.Fatal(err)
	}
	columns := cache.Folder(filepath.Join(folder, "columns"))
	if _, err := datasets.Open(job.Data{
		Kind: job.KindCSV, Path: file, Cache: string(columns),
		CSV: &job.Table{Slots: []job.IDColumn{{Column: "user"}}, Label: "clicked"},
	}, ""); err != nil {
		log.Fatal(err)
	}
	all, err := columns.List()
	if err != nil {
		log.Fatal(err)
	}
	for _, info := range all {
		fmt.Println(filepath.Base(info.Source), info.Rows, "rows")
	}
	// Output:
	// clicks.csv 3 rows
}
