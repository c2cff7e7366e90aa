// Package checkpoint keeps a trained model, with all that its training needs to continue, in a folder.
//
//	err := checkpoint.Save(folder, manifest, state)   // state is the exec.State of a training
//	saved, err := checkpoint.Open(folder)
//	notes, err := saved.Restore(other)                // any PSs and hot rows; see Restore for ranks
//	values, err := saved.Dense()                      // the network that predictions are computed with
//	rows, err := saved.Rows()                         // rows by sign, read in place
//	next, err := saved.OpenNext(folder)               // a later model, which shares what has not changed
//
// A folder has six kinds of files:
//
//   - dense.safetensors: the dense network
//   - rows-00000-of-00004.arrow: the rows of an embedding PS; rows-hot.arrow: the hot rows, if there are any;
//     rows-00000-of-00004-dim-64.arrow: those of 64 values, where slots differ in dimension
//     or settings; rows-00000-of-00004-dim-64-class-1.arrow: those with settings of their own;
//     rows-00000-of-00004-changes-1.arrow: rows that have changed since
//   - rows-00000-of-00004.arrow.crc32c, for every file of rows: the CRC-32C of every 4 KiB of it
//   - job.yaml: the job
//   - module.onnx: a module of PyTorch without its values, if it was written; see Checkpoint.ReadGraph
//   - manifest.json: the size and the SHA-256 of every other file; it is written last
//
// docs/model-files.md describes every field.
//
// Save writes a folder of another name beside the target, writes everything through to the disk, and then
// renames it: under its own name a folder is always complete. What a process that died has left is removed by
// the next Save to the same target.
//
// Open checks the sizes of all files, and the checksums of all but the rows and module.onnx; Restore, Compare
// and Verify check the rows, too, because they read every byte. A program that only looks up rows does not:
// a model of a hundred gigabytes could not be served at once otherwise. It checks a block of 4 KiB when it
// first reads one of its bytes, and so never uses a damaged row. Only in a model that was written before
// there were checksums of blocks it checks none: it should call Verify after it has copied one.
//
// # A checkpoint is the end of a run
//
// A run may begin where another ended. Roles count steps from 0 in every run. Executor.BeginAt tells the
// numerics which global step that is, and only they add it: to the batch that the loader reads, to learning
// rates, to draws of admission. No state of a protocol is written, read or versioned, so every mode that can
// end can be saved. Package train has the ways to save and to begin (Options.Begin, SaveEvery, SaveAfter).
//
// The modes sequential and sync end with the bits of a run without pauses, and so does backup-workers if it
// waits for all ranks. Tests cut them at every step, and sync also with other ranks and PSs after the cut. In
// the other modes a pause changes the run:
//
//   - All updates arrive before the pause, so the first reads after it miss none.
//   - Steps of a mode count from the pause, not from the start of the training, because roles count them: the
//     steps to the next average, clocks, global steps of gba. With another number of ranks, replicas begin
//     with their mean.
//   - gba closes its global batch, which then has fewer gradients.
//
// Two kinds of training are not saved before their end. Delayed sequential training has late gradients that
// no model contains. A recorded run is the other.
//
// # Beside training
//
// Within a process the rows are written while the training goes on. Table.Freeze of package table keeps their
// bits of one moment. A change copies a row to a buffer first, unless the writer has passed it, and waits for
// the writer while the buffer is full (Saver). The unit is a row, because a batch of skewed ids touches every
// page of a table and few of its rows. A table that is not frozen pays one comparison for every 32 rows.
//
// In a run in processes, every process writes its part of the model to a folder that all can reach
// (BeginExport), and the host writes the manifest when all have (Apart). The processes freeze their rows,
// join the next part of the run with what they hold, and write behind its training. Until the folder has its
// name, nothing begins with it: if a process is lost before, its part is lost, and the model before remains.
//
// A process that does not hold the end of the part before reads its part of the model: a process that was
// started again, and all of them after a loss or where rows become hot. The process of rank 0 writes the hot
// rows, and every process with ranks reads them. A file is read by the processes that have the owner of one
// of its rows.
//
// # Changes
//
// A Chain makes checkpoints small that follow each other. The table of an owner notes the header of every row
// while rows are written (table.FreezeNoted), so that the next checkpoint knows which rows have changed. It
// gets hard links to the files of the checkpoint before, and a file of the changes. Rows are known by their
// numbers: a file of changes says which row of the table each of its rows is, so rows that were evicted or
// have moved to another owner are gone, and eviction goes on where it was.
//
// Each process decides by itself, for each owner, whether to write all rows or the changes. It needs that its
// table has noted all rows when the file before was written, that the checkpoint before is complete, that the
// files there are those that it has written, or has begun with, and that another checkpoint has other files.
// Otherwise all rows are written, as on file systems without hard links, for rows on a GPU, and after a
// checkpoint that could not be written.
//
// # Models that follow each other
//
// OpenNext maps the files that the model before does not have, and shares the others. Both share one index of
// signs, too, to which entries are only added: an entry says in which row a sign may be, and each model
// compares the sign that it has there. What a model has of its own are 4 bytes a row, the places of the rows.
//
// # Decisions
//
//   - A server that follows a training reads its checkpoints; there are no packets besides them. So every
//     version is complete by itself, a server that was away for a day needs nothing that has been removed,
//     and a process that dies costs as little as a server is behind. The price: files of changes have the
//     optimizer states, which a server does not need, and the roles drain for every version.
//   - A checkpoint of changes has links to what it needs of earlier ones. It is complete by itself: no reader
//     follows a chain of folders, and none is removed that another needs. The price is a file system with
//     hard links, and that a damaged file which is shared damages several checkpoints. From the second on,
//     there is always one that shares none with the newest, which Prune keeps.
//   - Changes are those since the checkpoint before, not since the last one with all rows: each row is
//     written once for each checkpoint before which it has changed. A load reads more files; a new one with
//     all rows begins when the changes are as many rows as the table has.
//   - A table notes 4 bytes a row, and no kernel that reads or updates rows does anything for it. The price:
//     the headers of all rows are read to find those that have changed, behind the training.
//   - Rows are Arrow, the network is safetensors, the rest is JSON. Readers of others read them, rows are
//     looked up where they are mapped, and a file of rows has as many bytes as the rows. Readers and writers
//     are our own, because cmd/train links no Arrow.
//   - A folder is renamed into place and never overwritten. What has the name is complete, whenever a process
//     is killed. A checkpoint that replaces another takes twice the space for a moment.
//   - Hot rows have a file of their own, and no file says which rows are hot, so that a model can be loaded
//     with other hot rows, or none. Only a model with hot rows has version 2 of the format: a program that
//     does not know them reads the other models, and refuses this one.
//   - Every file has a SHA-256, and files of rows have a CRC-32C for every block beside it, in a file of
//     their own. Looking up rows checks these: serving starts at once, and believes no damaged row. The
//     price: 0.1 % more bytes, which are read at the start, and a test of a bit for each block that a row
//     lies in. The checksums find accidents: who can write the folder can make them, too.
//   - Every run begins with new roles. Asynchronous modes lose their staleness there.
//   - A model of processes is complete when the last of them has written. The price: from its drain until
//     then, the death of a process that holds a part of it costs the steps since the model before.
package checkpoint
