package cost

import (
	"errors"

	"tandem/algo/job"
	"tandem/sim/preset"
)

// Clusters are the built-in profiles of clusters; job.LoadCluster reads them.
var Clusters = &preset.Library{Kind: "cluster", Files: job.Clusters(), Folder: "."}

// ErrIncompatible is wrapped by the error about parts that cannot be in one cluster.
var ErrIncompatible = errors.New("incompatible")
