// Package gonbui stands in for the package of this name that a notebook displays figures with, so that its
// cells compile and run without the gonb kernel. A figure becomes a file.
package gonbui

import (
	"fmt"
	"os"
)

var displayed int

// DisplayPng writes an image to a new file in the folder that NOTEBOOK_FIGURES names.
func DisplayPng(png []byte) {
	name := fmt.Sprintf("%s/%03d.png", os.Getenv("NOTEBOOK_FIGURES"), displayed)
	displayed++
	if err := os.WriteFile(name, png, 0o600); err != nil {
		panic(err)
	}
}

// Sync does nothing: figures are complete when they have been displayed.
func Sync() {}
