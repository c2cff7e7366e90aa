package torch

import "bytes"

// Prefix begins every line of a module on Modules.Stderr.
const Prefix = "module: "

// lineBytesMax is where a line that is longer is cut.
const lineBytesMax = 16 << 10

// printer passes what a process prints on to Modules.Stderr, in whole lines. So they do not mix with those of
// others.
type printer struct {
	modules *Modules
	line    []byte // what has no end yet
}

// Write implements io.Writer.
func (p *printer) Write(text []byte) (int, error) {
	p.line = append(p.line, text...)
	for {
		end := bytes.IndexByte(p.line, '\n')
		switch {
		case end < 0 && len(p.line) <= lineBytesMax:
			return len(text), nil
		case end < 0 || end > lineBytesMax:
			p.print(p.line[:lineBytesMax])
			p.line = p.line[lineBytesMax:]
		default:
			p.print(p.line[:end])
			p.line = p.line[end+1:]
		}
	}
}

// end prints a line that has no end.
func (p *printer) end() {
	if len(p.line) > 0 {
		p.print(p.line)
	}
}

func (p *printer) print(line []byte) {
	p.modules.printing.Lock()
	defer p.modules.printing.Unlock()
	// That it cannot be printed must not end the module.
	_, _ = p.modules.Stderr.Write(append(append([]byte(Prefix), line...), '\n'))
}
