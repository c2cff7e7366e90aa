package report

import (
	"fmt"

	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// outlineCanvas is an SVG canvas that draws text as filled outlines. A drawing with text elements depends on
// the fonts of the viewer's machine: a different font may be wider than the layout allows, so that labels run
// over the axis.
type outlineCanvas struct{ *vgsvg.Canvas }

// FillString implements vg.Canvas.
func (c outlineCanvas) FillString(face font.Face, at vg.Point, text string) {
	c.Fill(outline(face, at, text))
}

// outline returns the outlines of a line of text whose baseline begins at a point. It panics if a glyph
// cannot be loaded, as gonum/plot does.
func outline(face font.Face, at vg.Point, text string) vg.Path {
	var (
		path   vg.Path
		buffer sfnt.Buffer
		unit   = face.Font.Size / vg.Length(face.Face.UnitsPerEm())
	)
	for i, r := range text {
		glyph, err := face.Face.GlyphIndex(&buffer, r)
		if err != nil {
			panic(fmt.Errorf("report: glyph of %q: %w", r, err))
		}
		// At one pixel per font unit, coordinates are whole font units.
		segments, err := face.Face.LoadGlyph(&buffer, glyph, fixed.I(int(face.Face.UnitsPerEm())), nil)
		if err != nil {
			panic(fmt.Errorf("report: outline of %q: %w", r, err))
		}
		// The width of the text up to the glyph includes the kerning before it.
		x := at.X + face.Width(text[:i]+string(r)) - face.Width(string(r))
		place := func(p fixed.Point26_6) vg.Point { // y grows downwards in glyphs
			return vg.Point{X: x + vg.Length(p.X)/64*unit, Y: at.Y - vg.Length(p.Y)/64*unit}
		}
		for j, s := range segments {
			switch s.Op {
			case sfnt.SegmentOpMoveTo:
				if j > 0 {
					path.Close()
				}
				path.Move(place(s.Args[0]))
			case sfnt.SegmentOpLineTo:
				path.Line(place(s.Args[0]))
			case sfnt.SegmentOpQuadTo:
				path.QuadTo(place(s.Args[0]), place(s.Args[1]))
			case sfnt.SegmentOpCubeTo:
				path.CubeTo(place(s.Args[0]), place(s.Args[1]), place(s.Args[2]))
			}
		}
		if len(segments) > 0 {
			path.Close()
		}
	}
	return path
}
