// Package bucket keeps copies of checkpoints in an object store, for a training that loses its disks.
//
//	store, err := bucket.Open(ctx, "s3://bucket/run?region=eu-west-1")
//	step, damaged, err := store.Fetch(ctx, folder)          // the newest copy, to a folder of checkpoints
//	copier := store.Follow(ctx, folder, keep, failed)
//	copier.Saved(step)                                     // whenever the folder has a further checkpoint
//	err = copier.Close()                                   // when the newest is copied
//
// The copy of the checkpoint after 500 steps has the files of its folder as the objects 500/manifest.json and
// so on. The manifest comes last and goes first, so a copy with a manifest is complete. A file that the copy
// before has, too, is copied within the store, and not sent again.
//
// Copies are made beside training, one at a time. Training never waits for them but at its end. If
// checkpoints come faster than copies, those between are not copied.
package bucket
