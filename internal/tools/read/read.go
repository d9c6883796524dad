// Package read is the tool that shows a model a file: numbered lines of text in any encoding,
// pictures, PDF documents and notebooks, each within limits, and an honest word where something was
// left out.
//
// It changes nothing but what the agent is known to have read, and decides nothing about who may
// read what: permission does, before a call starts. Begin with [New].
//
// text.go, image.go, pdf.go and notebook.go each show one kind of file.
package read

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/tool"
	"github.com/myelin-agent/myelin/internal/sys/nolink"
	"github.com/myelin-agent/myelin/internal/sys/proc"
	"github.com/myelin-agent/myelin/internal/sys/textfile"
)

// Name is the tool's name.
const Name = "Read"

// World is what the tool is built with. All fields may be nil; functions may be called from several
// goroutines at once.
type World struct {
	Env       func(name string) string // environment; nil: nothing set
	Documents func() bool              // whether the model reads PDF as it is; nil: no
	Images    func() bool              // whether it sees pictures; nil: yes
	Room      func() int               // tokens the context still has room for, for allow_large; nil: 100,000
	Finder    proc.Finder              // of programs that read PDF
	Pages     func() string            // the present folder for pictures of PDF pages, made when missing; nil: none are made
}

const description = `Reads a file: text (numbered lines), PNG, JPEG, GIF or WebP images, PDF, or a Jupyter notebook.
By default the first 2000 lines; continue with offset and limit. Lines over 2000 characters are cut; column reads on inside one. PDFs over 10 pages need pages. Several files can be read in parallel. It cannot list a directory.`

const schema = `{"type":"object","required":["file_path"],"properties":{
"file_path":{"type":"string","description":"Absolute path"},
"offset":{"type":"integer","minimum":0,"description":"First line, from 1"},
"limit":{"type":"integer","minimum":1,"description":"Number of lines"},
"column":{"type":"integer","minimum":1,"description":"First character, from 1, of the one line at offset"},
"pages":{"type":"string","description":"PDF pages, \"3\" or \"1-5\", at most 20"},
"allow_large":{"type":"boolean","description":"Lift the size limits, when the whole file is really needed"}}}`

// Input is what the model gives.
type Input struct {
	FilePath   string `json:"file_path"`
	Offset     int    `json:"offset,omitempty"`
	Limit      int    `json:"limit,omitempty"`
	Column     int    `json:"column,omitempty"`
	Pages      string `json:"pages,omitempty"`
	AllowLarge bool   `json:"allow_large,omitempty"`

	real string // where the call was decided to lead: what is opened
}

// New returns the tool.
func New(w World) tool.Tool {
	spec := tool.Spec{
		Name: Name, Description: description, Schema: json.RawMessage(schema), Argument: "file_path",
		Keywords: "file view cat open show image pdf notebook", Repeatable: true,
	}
	r := &reader{w}
	return tool.New(spec, r.run, tool.Normaliser(normalise), tool.Traiter(traits))
}

func normalise(in Input, call tool.Call) (Input, error) {
	path, err := textfile.Absolute(in.FilePath, call.Dir())
	switch {
	case err != nil:
		return in, fmt.Errorf("InputValidationError: Read failed: `file_path`: %w", err)
	case path == "":
		return in, errors.New("InputValidationError: Read failed: `file_path` is empty")
	}
	in.FilePath = path
	if in.Pages != "" {
		if _, _, err := pageRange(in.Pages); err != nil {
			return in, fmt.Errorf("InputValidationError: Read failed: `pages`: %w", err)
		}
	}
	return in, nil
}

func traits(in Input, _ tool.Call) tool.Traits {
	return tool.Traits{ReadOnly: true, Beside: true, Paths: []tool.PathUse{{Path: in.FilePath, Intent: tool.Read}}}
}

type reader struct{ w World }

const (
	maxTokens   = 25_000
	maxLines    = 2000
	maxInMemory = 32 << 20         // larger text files are read piece by piece
	timeLimit   = 30 * time.Second // for getting to a place far inside of a huge file
)

// tokenCap is how many tokens a result may have.
func (r *reader) tokenCap(in Input) int {
	limit := maxTokens
	if r.w.Env != nil {
		if n, err := strconv.Atoi(r.w.Env("CLAUDE_CODE_FILE_READ_MAX_OUTPUT_TOKENS")); err == nil && n > 0 {
			limit = n
		}
	}
	if !in.AllowLarge {
		return limit
	}
	room := 100_000
	if r.w.Room != nil {
		room = r.w.Room()
	}
	return max(limit, room)
}

func (r *reader) run(ctx context.Context, in Input, call tool.Call) (tool.Result, error) {
	var err error
	if in.real, err = call.Real(in.FilePath); err != nil {
		return refuse(in, call, err)
	}
	f, info, err := textfile.OpenReal(in.real)
	if err != nil {
		return refuse(in, call, err)
	}
	head := make([]byte, 512)
	n, err := io.ReadFull(f, head)
	f.Close()
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return refuse(in, call, err)
	}
	head = head[:n]
	switch kind := textfile.Kind(head); {
	case kind == "PNG image" || kind == "JPEG image" || kind == "GIF image" || kind == "WebP image":
		return r.image(in, info, call)
	case kind == "PDF document":
		return r.pdf(ctx, in, info, call)
	case strings.EqualFold(filepath.Ext(in.FilePath), ".ipynb") && len(bytes.TrimSpace(head)) > 0:
		return r.notebook(in, info, call)
	case in.Pages != "":
		return tool.Misuse("`pages` is for PDF files; use offset and limit here."), nil
	default:
		return r.text(ctx, in, info, call)
	}
}

// refuse tells the model why a file cannot be read.
func refuse(in Input, call tool.Call, err error) (tool.Result, error) {
	path := in.FilePath
	var binary *textfile.BinaryError
	var large *textfile.TooLargeError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		text := "File does not exist: " + path + "."
		if near := textfile.Nearest(path); near != "" {
			text += " Did you mean " + near + "?"
		}
		return tool.Failed(text + " The current working directory is " + call.Dir() + "."), nil
	case errors.Is(err, textfile.ErrDirectory):
		return tool.Failed(path + " is a directory. List it with ls in Bash, or find files in it with Glob."), nil
	case errors.Is(err, textfile.ErrSpecial):
		return tool.Failed(path + " is a device, pipe or socket; reading it could block for ever, so it is refused."), nil
	case errors.As(err, &binary):
		return tool.Failed(fmt.Sprintf("%s is no text file but looks like: %s. Read shows text, images, PDF and notebooks; use Bash for a tool that understands it.", path, binary.Kind)), nil
	case errors.As(err, &large):
		return tool.Failed(fmt.Sprintf("%s %v.", path, large)), nil
	case errors.Is(err, context.DeadlineExceeded):
		return tool.Failed(fmt.Sprintf("%s: the lines asked for were not reached within %v. Use Grep or Bash.", path, timeLimit)), nil
	case errors.Is(err, context.Canceled), errors.Is(err, nolink.ErrLink):
		return tool.Result{}, err
	default:
		var p *fs.PathError
		if errors.As(err, &p) {
			err = p.Err
		}
		return tool.Failed(fmt.Sprintf("%s cannot be read: %v.", path, err)), nil
	}
}

// shown makes a result of text for the model and a structured output.
func shown(structured any, content ...msg.Block) (tool.Result, error) {
	raw, err := json.Marshal(structured)
	if err != nil {
		return tool.Result{}, fmt.Errorf("write the output of Read: %w", err)
	}
	return tool.Result{Content: content, Structured: raw}, nil
}

// estimate is about how many tokens a text has. No tokenizer is public; four bytes of ASCII or one
// other character a token is on the safe side for source text.
func estimate(s string) int {
	ascii, other := 0, 0
	for _, r := range s {
		if r < 0x80 {
			ascii++
		} else {
			other++
		}
	}
	return (ascii+3)/4 + other
}
