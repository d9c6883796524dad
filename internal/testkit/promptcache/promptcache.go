// Package promptcache is the prompt cache of model services by their public rules, to tell what of a
// conversation would be read from it: Anthropic's borders with a look back of twenty blocks, OpenAI's longest
// common beginning. It measures bodies as they are sent and knows nothing of tokens.
package promptcache

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Price is what bytes cost, as a multiple of what a byte of input costs.
const (
	ReadPrice  = 0.1
	WritePrice = 1.25
)

// lookBack is how many blocks before a border the service looks for what it has.
const lookBack = 20

// Bill is what requests sent.
type Bill struct {
	Read, Written, Input int // bytes
}

// Share is the part of all bytes that was read from the cache.
func (b Bill) Share() float64 {
	return float64(b.Read) / float64(max(b.Read+b.Written+b.Input, 1))
}

// Price is what the bytes cost against sending all of them as input.
func (b Bill) Price() float64 {
	all := float64(max(b.Read+b.Written+b.Input, 1))
	return (ReadPrice*float64(b.Read) + WritePrice*float64(b.Written) + float64(b.Input)) / all
}

func (b Bill) plus(o Bill) Bill {
	return Bill{b.Read + o.Read, b.Written + o.Written, b.Input + o.Input}
}

// block is a piece of a prompt in the order in which the model reads it.
type block struct {
	text   []byte
	border bool
}

// Anthropic bills requests to the Messages API, one after the other; each model has a cache of its own.
func Anthropic(bodies [][]byte) (Bill, error) {
	var total Bill
	kept := map[string]bool{} // by model and beginning
	for i, body := range bodies {
		model, blocks, err := anthropicBlocks(body)
		if err != nil {
			return total, fmt.Errorf("request %d: %w", i, err)
		}
		begin := make([]string, len(blocks)) // of the prompt, up to each block
		ends := make([]int, len(blocks))
		var whole bytes.Buffer
		whole.WriteString(model)
		for j, b := range blocks {
			whole.Write(b.text)
			begin[j], ends[j] = whole.String(), whole.Len()-len(model)
		}
		read, border := 0, 0
		for j, b := range blocks {
			if !b.border {
				continue
			}
			border = ends[j]
			for k := j; k >= 0 && k > j-lookBack; k-- {
				if kept[begin[k]] {
					read = max(read, ends[k])
					break
				}
			}
		}
		for j, b := range blocks {
			if b.border {
				kept[begin[j]] = true
			}
		}
		all := whole.Len() - len(model)
		total = total.plus(Bill{read, border - read, all - border})
	}
	return total, nil
}

func anthropicBlocks(body []byte) (model string, out []block, err error) {
	var in struct {
		Model    string                       `json:"model"`
		Tools    []map[string]json.RawMessage `json:"tools"`
		System   []map[string]json.RawMessage `json:"system"`
		Messages []struct {
			Role    string                       `json:"role"`
			Content []map[string]json.RawMessage `json:"content"`
		} `json:"messages"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return "", nil, err
	}
	add := func(role string, members map[string]json.RawMessage) error {
		_, border := members["cache_control"]
		delete(members, "cache_control")
		text, err := json.Marshal(members)
		out = append(out, block{append([]byte(role), text...), border})
		return err
	}
	deferred := map[string][]byte{}
	for _, t := range in.Tools {
		if string(t["defer_loading"]) == "true" {
			deferred[string(t["name"])], err = json.Marshal(t)
		} else {
			err = add("tool", t)
		}
		if err != nil {
			return "", nil, err
		}
	}
	for _, s := range in.System {
		if err := add("system", s); err != nil {
			return "", nil, err
		}
	}
	for _, m := range in.Messages {
		for _, b := range m.Content {
			if err := add(m.Role, b); err != nil {
				return "", nil, err
			}
			last := &out[len(out)-1]
			for name, text := range deferred { // what is referred to stands there in full
				if bytes.Contains(last.text, []byte(`"tool_name":`+name)) {
					last.text = append(last.text, text...)
				}
			}
		}
	}
	return in.Model, out, nil
}

// Prefix bills requests to services that keep the beginnings of prompts by themselves (OpenAI, Gemini): what a request has in common with the
// beginning of an earlier one to its model is read, the rest is input.
func Prefix(bodies [][]byte) (Bill, error) {
	var total Bill
	before := map[string][][]byte{}
	for i, body := range bodies {
		var in struct {
			Model        string            `json:"model"`
			Tools        json.RawMessage   `json:"tools"`
			Instructions string            `json:"instructions"`
			Input        []json.RawMessage `json:"input"`
			Messages     []json.RawMessage `json:"messages"`
			System       json.RawMessage   `json:"systemInstruction"`
			Contents     []json.RawMessage `json:"contents"`
		}
		if err := json.Unmarshal(body, &in); err != nil {
			return total, fmt.Errorf("request %d: %w", i, err)
		}
		prompt := append(append(bytes.Clone(in.Tools), in.Instructions...), in.System...)
		for _, item := range append(append(in.Input, in.Messages...), in.Contents...) {
			prompt = append(prompt, item...)
		}
		read := 0
		for _, earlier := range before[in.Model] {
			read = max(read, common(earlier, prompt))
		}
		before[in.Model] = append(before[in.Model], prompt)
		total = total.plus(Bill{read, 0, len(prompt) - read})
	}
	return total, nil
}

func common(a, b []byte) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return i
		}
	}
	return min(len(a), len(b))
}
