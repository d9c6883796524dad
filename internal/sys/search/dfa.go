package search

import (
	"bytes"
	"encoding/binary"
	"errors"
	"regexp/syntax"
	"slices"
	"unicode"
	"unicode/utf8"
)

// program is a pattern made ready for scanning text at a table look-up a byte, where regexp takes
// ten times as long. It is immutable; each worker scans with a dfa of its own.
//
// What it finds are lines that may match, never fewer: word boundaries count as met everywhere, and
// a character beyond ASCII counts as any other that the pattern could take in its place. The line
// is then tried with the real expression.
type program struct {
	insts []syntax.Inst
	start uint32
	wide  []bool // of each instruction, whether it takes a character beyond ASCII
}

// newProgram prepares the parsed expression, which it changes.
func newProgram(re *syntax.Regexp) (*program, error) {
	within(re)
	prog, err := syntax.Compile(re.Simplify())
	if err != nil {
		return nil, err
	}
	if len(prog.Inst) > maxProgram {
		return nil, errors.New("it is too large; use fewer or smaller repetitions and classes")
	}
	p := &program{insts: prog.Inst, start: uint32(prog.Start), wide: make([]bool, len(prog.Inst))}
	for i := range p.insts {
		p.wide[i] = takesWide(&p.insts[i])
	}
	return p, nil
}

// within keeps a pattern inside of single lines of a text with many, as it would be if it were
// tried on each line alone.
func within(re *syntax.Regexp) {
	switch re.Op {
	case syntax.OpBeginText:
		re.Op = syntax.OpBeginLine
	case syntax.OpEndText:
		re.Op = syntax.OpEndLine
	}
	for _, sub := range re.Sub {
		within(sub)
	}
}

// maxProgram bounds what one pattern may cost for each byte of text.
const maxProgram = 10_000

func takesWide(i *syntax.Inst) bool {
	switch i.Op {
	case syntax.InstRuneAny, syntax.InstRuneAnyNotNL:
		return true
	case syntax.InstRune, syntax.InstRune1:
		if n := len(i.Rune); n > 0 && i.Rune[n-1] >= utf8.RuneSelf {
			return true
		}
		if syntax.Flags(i.Arg)&syntax.FoldCase == 0 {
			return false
		}
		for _, r := range i.Rune {
			for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
				if f >= utf8.RuneSelf {
					return true
				}
			}
		}
	}
	return false
}

// The states every dfa has: not computed yet, and a match was seen. A state is the offset of its row
// in the table.
const (
	unknown    = 0 << 8
	matched    = 1 << 8
	firstState = 2
)

// maxStates bounds a dfa to a megabyte; beyond that it begins anew.
const maxStates = 1024

// dfa runs a program over bytes, one table look-up each, and makes its states as it meets them.
// It belongs to one worker.
type dfa struct {
	p      *program
	states [][]uint32        // of each state the instructions it stands for
	table  []uint32          // next state by state | byte
	known  map[string]uint32 // state by its instructions
	line   uint32            // state at the start of a line
	seen   []uint32          // of each instruction the call of add that met it last
	call   uint32            // number of that call
	stack  []uint32          // scratch of add
}

func newDFA(p *program) *dfa {
	d := &dfa{p: p, seen: make([]uint32, len(p.insts))}
	d.clear()
	return d
}

func (d *dfa) clear() {
	d.states = make([][]uint32, firstState)
	d.table = make([]uint32, firstState<<8)
	d.known = map[string]uint32{}
	d.line = d.state(d.add(nil, d.p.start, true))
}

// index returns a place in the first line of buf[from:] that may match, its LF included, or -1. from
// is the start of a line.
func (d *dfa) index(buf []byte, from int) int {
	s := d.line
	if s == matched {
		return from
	}
	table := d.table
	for i := from; i < len(buf); i++ {
		next := table[s|uint32(buf[i])]
		if next <= matched {
			if next == unknown {
				next = d.step(s, buf[i])
				table = d.table
			}
			if next == matched {
				return i
			}
		}
		s = next
	}
	n := len(buf)
	if (n == 0 || buf[n-1] != '\n') && d.ends(d.states[s>>8]) {
		return max(n-1, 0)
	}
	return -1
}

// step computes one entry of the table.
func (d *dfa) step(s uint32, b byte) uint32 {
	if len(d.states) >= maxStates {
		insts := d.states[s>>8]
		d.clear()
		s = d.state(insts)
	}
	next := d.next(d.states[s>>8], s, b)
	d.table[s|uint32(b)] = next
	return next
}

func (d *dfa) next(insts []uint32, s uint32, b byte) uint32 {
	switch {
	case b == '\n' && d.ends(insts):
		return matched
	case b == '\n':
		return d.line
	case b == '\r' && d.ends(insts): // if LF follows it is the end of the line
		return matched
	case !utf8.RuneStart(b): // was taken with the first byte of the character
		return s
	}
	set := d.add(nil, d.p.start, false)
	for _, pc := range insts {
		inst := &d.p.insts[pc]
		if b < utf8.RuneSelf && inst.Op != syntax.InstEmptyWidth && inst.MatchRune(rune(b)) || b >= utf8.RuneSelf && d.p.wide[pc] {
			set = d.add(set, inst.Out, false)
		}
	}
	return d.state(set)
}

// add puts into set, which the calls before began or which is new (nil), what pc leads to without taking a character: what takes one, what waits for the
// end of the line, and a match.
func (d *dfa) add(set []uint32, pc uint32, lineStart bool) []uint32 {
	if set == nil {
		if d.call++; d.call == 0 { // wrapped round
			clear(d.seen)
			d.call = 1
		}
	}
	stack := append(d.stack[:0], pc)
	defer func() { d.stack = stack[:0] }()
	for len(stack) > 0 {
		pc := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if d.seen[pc] == d.call {
			continue
		}
		d.seen[pc] = d.call
		inst := &d.p.insts[pc]
		switch inst.Op {
		case syntax.InstAlt, syntax.InstAltMatch:
			stack = append(stack, inst.Out, inst.Arg)
		case syntax.InstCapture, syntax.InstNop:
			stack = append(stack, inst.Out)
		case syntax.InstEmptyWidth:
			switch at := syntax.EmptyOp(inst.Arg); {
			case at&(syntax.EmptyEndLine|syntax.EmptyEndText) != 0:
				set = append(set, pc)
			case at&(syntax.EmptyBeginLine|syntax.EmptyBeginText) == 0 || lineStart:
				stack = append(stack, inst.Out)
			}
		case syntax.InstFail:
		default:
			set = append(set, pc)
		}
	}
	return set
}

// ends tells whether the instructions lead to a match at the end of a line.
func (d *dfa) ends(insts []uint32) bool {
	for _, pc := range insts {
		if d.p.insts[pc].Op != syntax.InstEmptyWidth {
			continue
		}
		after := d.add(nil, d.p.insts[pc].Out, true)
		if d.hasMatch(after) || (!slices.Contains(after, pc) && d.ends(after)) {
			return true
		}
	}
	return false
}

func (d *dfa) hasMatch(set []uint32) bool {
	return slices.ContainsFunc(set, func(pc uint32) bool { return d.p.insts[pc].Op == syntax.InstMatch })
}

// state returns the number of the state for a set of instructions.
func (d *dfa) state(set []uint32) uint32 {
	if d.hasMatch(set) {
		return matched
	}
	slices.Sort(set)
	key := make([]byte, 0, 4*len(set))
	for _, pc := range set {
		key = binary.LittleEndian.AppendUint32(key, pc)
	}
	if s, ok := d.known[string(key)]; ok {
		return s
	}
	s := uint32(len(d.states)) << 8
	d.states = append(d.states, set)
	d.table = append(d.table, make([]uint32, 256)...)
	d.known[string(key)] = s
	return s
}

// scanned finds the next matching line by means of the dfa.
func (f *finder) scanned(from int) (start, end int, ok bool) {
	for from < len(f.buf) && f.ctx.Err() == nil {
		at := f.dfa.index(f.buf, from)
		if at < 0 {
			return 0, 0, false
		}
		start = from + bytes.LastIndexByte(f.buf[from:at], '\n') + 1
		end, next := f.p.lineEnd(f.buf, start)
		if f.p.MatchLine(f.buf[start:end]) {
			return start, end, true
		}
		from = next
	}
	return 0, 0, false
}
