package read

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io/fs"
	"strings"

	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/tool"
	"github.com/myelin-agent/myelin/internal/sys/textfile"
)

const (
	maxNotebook = 100 << 20
	maxOutput   = 10_000 // characters of one output
	maxPictures = 10     // of one notebook
)

// lines is a text that notebooks keep either as a string or as an array of lines.
type lines string

// UnmarshalJSON implements json.Unmarshaler.
func (l *lines) UnmarshalJSON(data []byte) error {
	var parts []string
	if json.Unmarshal(data, &parts) == nil {
		*l = lines(strings.Join(parts, ""))
		return nil
	}
	return json.Unmarshal(data, (*string)(l))
}

// notebookJSON is what is shown of a notebook, in the public nbformat 4.
type notebookJSON struct {
	Cells    []cellJSON `json:"cells"`
	Metadata struct {
		Language struct {
			Name string `json:"name"`
		} `json:"language_info"`
	} `json:"metadata"`
}

type cellJSON struct {
	ID      string       `json:"id"`
	Type    string       `json:"cell_type"`
	Source  lines        `json:"source"`
	Count   *int         `json:"execution_count"`
	Outputs []outputJSON `json:"outputs"`
}

type outputJSON struct {
	Type  string                     `json:"output_type"`
	Text  lines                      `json:"text"`
	Data  map[string]json.RawMessage `json:"data"`
	Name  string                     `json:"ename"`
	Value string                     `json:"evalue"`
	Trace []string                   `json:"traceback"`
}

type notebookOutput struct {
	Type string       `json:"type"`
	File notebookFile `json:"file"`
}

type notebookFile struct {
	FilePath string      `json:"filePath"`
	Cells    []shownCell `json:"cells"`
}

type shownCell struct {
	ID       string        `json:"cell_id"`
	Type     string        `json:"cellType"`
	Source   string        `json:"source"`
	Language string        `json:"language,omitempty"`
	Count    *int          `json:"execution_count,omitempty"`
	Outputs  []shownOutput `json:"outputs,omitempty"`
}

type shownOutput struct {
	Type  string      `json:"output_type"`
	Text  string      `json:"text,omitempty"`
	Image *shownImage `json:"image,omitempty"`
}

type shownImage struct {
	Data  string `json:"image_data"`
	Media string `json:"media_type"`
}

func (r *reader) notebook(in Input, info fs.FileInfo, call tool.Call) (tool.Result, error) {
	f, err := textfile.LoadReal(in.FilePath, in.real, maxNotebook)
	if err != nil {
		return refuse(in, call, err)
	}
	var nb notebookJSON
	if err := json.Unmarshal([]byte(f.Text.View()), &nb); err != nil {
		return tool.Failed(fmt.Sprintf("%s is no valid notebook: %v. Use Bash to look at its text.", in.FilePath, err)), nil
	}
	rec := tool.ReadRecord{Path: f.Real, Hash: f.Text.Hash(), ModTime: info.ModTime(), Size: info.Size()}
	if len(f.Text.Raw()) <= tool.MaxKeptContent {
		rec.Content = f.Text.Raw()
	}
	out := notebookOutput{"notebook", notebookFile{in.FilePath, []shownCell{}}}
	var text strings.Builder
	var content []msg.Block
	for i, c := range nb.Cells {
		cell, pictures := r.cell(i, c, nb.Metadata.Language.Name)
		out.File.Cells = append(out.File.Cells, cell)
		writeCell(&text, cell)
		if len(content)+len(pictures) <= maxPictures {
			content = append(content, pictures...)
		}
	}
	if len(nb.Cells) == 0 {
		text.WriteString(note("the notebook has no cells"))
	}
	if limit := r.tokenCap(in); estimate(text.String()) > limit {
		return tool.Failed(fmt.Sprintf("The notebook's %d cells have more than the %d tokens one result may hold. Look at parts of it with Grep or jq in Bash.", len(nb.Cells), limit)), nil
	}
	call.Scope.Reads.Put(rec)
	return shown(out, append([]msg.Block{msg.Text{Text: strings.TrimSpace(text.String())}}, content...)...)
}

// cell returns what is shown of a cell; one without id gets the public "cell-N".
func (r *reader) cell(i int, c cellJSON, language string) (shownCell, []msg.Block) {
	out := shownCell{ID: c.ID, Type: c.Type, Source: string(c.Source), Count: c.Count}
	if out.ID == "" {
		out.ID = fmt.Sprintf("cell-%d", i)
	}
	if c.Type == "code" {
		out.Language = language
	}
	var pictures []msg.Block
	for _, o := range c.Outputs {
		shown, picture := r.output(o)
		if picture != nil {
			pictures = append(pictures, *picture)
		}
		out.Outputs = append(out.Outputs, shown)
	}
	return out, pictures
}

func (r *reader) output(o outputJSON) (shownOutput, *msg.Image) {
	out := shownOutput{Type: o.Type, Text: string(o.Text)}
	switch {
	case o.Type == "error":
		out.Text = o.Name + ": " + o.Value + "\n" + plain(strings.Join(o.Trace, "\n"))
	case o.Data["text/plain"] != nil:
		var text lines
		if json.Unmarshal(o.Data["text/plain"], &text) == nil {
			out.Text = string(text)
		}
	}
	out.Text = textfile.Cut(strings.ToValidUTF8(out.Text, "\uFFFD"), maxOutput)
	if r.w.Images != nil && !r.w.Images() {
		return out, nil
	}
	for _, media := range []string{"image/png", "image/jpeg"} {
		var encoded lines
		if o.Data[media] == nil || json.Unmarshal(o.Data[media], &encoded) != nil {
			continue
		}
		raw, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(string(encoded)), ""))
		if err != nil {
			continue
		}
		pic, err := prepare(raw)
		if err != nil {
			out.Text += note("a picture that cannot be shown: " + err.Error())
			continue
		}
		out.Image = &shownImage{base64.StdEncoding.EncodeToString(pic.data), pic.media}
		return out, &msg.Image{MediaType: pic.media, Data: pic.data}
	}
	return out, nil
}

func writeCell(b *strings.Builder, c shownCell) {
	fmt.Fprintf(b, "<cell id=%q type=%q>\n%s\n</cell>\n", c.ID, c.Type, c.Source)
	for _, o := range c.Outputs {
		switch {
		case o.Image != nil:
			fmt.Fprintf(b, "<output>%s[picture below]</output>\n", o.Text)
		case o.Text != "":
			fmt.Fprintf(b, "<output>\n%s\n</output>\n", strings.TrimSuffix(o.Text, "\n"))
		}
	}
}

// plain takes the colour codes out of a traceback.
func plain(s string) string {
	var out bytes.Buffer
	for i := 0; i < len(s); i++ {
		if s[i] == 0x1B && i+1 < len(s) && s[i+1] == '[' {
			for i += 2; i < len(s) && (s[i] < '@' || s[i] > '~'); i++ {
			}
			continue
		}
		out.WriteByte(s[i])
	}
	return out.String()
}
