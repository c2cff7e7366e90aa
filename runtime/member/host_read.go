package member

import (
	"context"
	"fmt"
	"slices"

	"tandem/algo/numeric/model"
	"tandem/algo/protocol/msg"
	"tandem/runtime/driver"
	"tandem/runtime/member/control"
)

// readRowsMax is the number of rows in one request.
const readRowsMax = 1 << 14

// ReadRows copies rows of a PS, or hot rows: see evaluation.State. It may be called from
// Callbacks.BeforeStep, and between the end of Train and Close.
func (h *Host) ReadRows(ctx context.Context, server int, signs []uint64, dst []float32) error {
	if len(signs) == 0 {
		return nil
	}
	s := h.byRole[msg.Address{Role: msg.EmbeddingPS, Index: int32(server)}]
	if server == h.servers() { // hot rows, which every rank holds
		s = h.byRole[msg.Address{Role: msg.NNWorker}]
	}
	dim := len(dst) / len(signs)
	for len(signs) > 0 {
		n := min(len(signs), readRowsMax)
		s.pendingValues, s.values = n*dim, nil
		request := &control.ReadRows{Server: int32(server), Signs: signs[:n]}
		err := h.ask(ctx, s, &control.ToMember{What: &control.ToMember_ReadRows{ReadRows: request}},
			func() bool { return s.values != nil })
		if err != nil {
			return err
		}
		copy(dst, s.values)
		signs, dst = signs[n:], dst[n*dim:]
	}
	return nil
}

// ReadDense copies the part of the dense network that one role holds. It may be called when ReadRows may be.
// exec.ModelState.DenseHolders lists the roles that hold parts.
func (h *Host) ReadDense(ctx context.Context, at msg.Address) (model.Values, error) {
	s := h.byRole[at]
	s.pendingDense, s.dense = true, nil
	request := &control.ReadDense{Role: toRole(at)}
	err := h.ask(ctx, s, &control.ToMember{What: &control.ToMember_ReadDense{ReadDense: request}},
		func() bool { return s.dense != nil })
	if err != nil {
		return model.Values{}, err
	}
	return *s.dense, nil
}

// Digests returns the digests of what each process with a part of the model holds. It may be called between
// the end of Train and Close.
func (h *Host) Digests(ctx context.Context) (all []driver.Digests, err error) {
	for _, s := range h.processes {
		if !s.roles.HoldsModel() {
			continue
		}
		s.pendingDigests, s.digests = true, nil
		request := &control.ToMember{What: &control.ToMember_ReadDigests{ReadDigests: &control.ReadDigests{}}}
		if err := h.ask(ctx, s, request, func() bool { return s.digests != nil }); err != nil {
			return nil, err
		}
		all = append(all, *s.digests)
	}
	return all, nil
}

// ask sends a request to a process until it is answered: once, and again to each member that takes the place
// of one that died.
func (h *Host) ask(ctx context.Context, s *process, request *control.ToMember, answered func() bool) error {
	for asked := (*member)(nil); !answered(); {
		if m := s.member; h.mayRead(s) && m != asked {
			m.send(request)
			asked = m
		}
		if err := h.handleNext(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Export makes every process with a part of the model begin to write it into a folder, after Train: an
// embedding PS its rows, and a process with ranks or PSs all else to a file of its own. All processes must
// reach the folder under the same path. They go on writing in the next part of the run: see Plan.Export.
//
// Of fullEvery exports of a process one has all rows, and the others only write what has changed.
func (h *Host) Export(ctx context.Context, folder string, fullEvery int) (*driver.Export, error) {
	h.export = driver.NewExport(folder)
	for i, s := range h.processes {
		if !s.roles.HoldsModel() {
			continue
		}
		name := fmt.Sprintf("export-%05d", i)
		s.exporting = &control.Export{Folder: folder, Name: name, FullEvery: uint32(fullEvery)}
		if s.member != nil && s.member.reported {
			s.export()
		}
		h.export.Begin(s.roles[0], name)
	}
	exporting := func(s *process) bool { return s.exporting != nil }
	for slices.ContainsFunc(h.processes, exporting) {
		if err := h.handleNext(ctx); err != nil {
			return nil, err
		}
	}
	return h.export, nil
}

// AwaitExport waits, after Train, until the latest export is done, and returns its error.
func (h *Host) AwaitExport(ctx context.Context, e *driver.Export) error {
	for {
		select {
		case <-e.Done():
			return e.Err()
		default:
		}
		if err := h.handleNext(ctx); err != nil {
			return err
		}
	}
}

// saved handles the report of a process that it has written its part of the model, or cannot. A process does
// not know whether the host of an earlier part of the run has received its report, and repeats it.
func (h *Host) saved(s *process, m *control.Saved) {
	at := s.roles[0]
	if !h.export.Writes(at) || h.export.Folder != m.GetFolder() {
		return
	}
	var failed error
	if m.GetReason() != "" {
		failed = fmt.Errorf("%v: %s", s, truncate(m.GetReason()))
	}
	h.export.End(at, failed)
}

// export asks the process to export, which it has not done yet.
func (s *process) export() {
	s.member.send(&control.ToMember{What: &control.ToMember_Export{Export: s.exporting}})
}
