//go:build s3

package main

import _ "tandem/datasets/blob" // reads and lists s3:// URLs; it takes long to build
