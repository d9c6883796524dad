package hook

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/myelin-agent/myelin/internal/sys/jsonc"
	"github.com/myelin-agent/myelin/internal/sys/netname"
)

// withinHost is a copy of a client that follows redirects within one host only.
func withinHost(client *http.Client) *http.Client {
	var c http.Client
	if client != nil {
		c = *client
	}
	c.CheckRedirect = func(req *http.Request, via []*http.Request) error {
		if len(via) > 5 || !netname.Same(req.URL, via[0].URL) {
			return errors.New("a redirect to another host is not followed")
		}
		return nil
	}
	return &c
}

// post sends the input to a URL.
func (h *Hooks) post(ctx context.Context, spec Spec, x *Handler, input json.RawMessage) answer {
	to, limits := h.fill(x.URL), h.cfg.HTTPLimits()
	if limits.URLs != nil && !urlAllowed(*limits.URLs, to) {
		return answer{failure: "its URL is not in allowedHttpHookUrls"}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, to, bytes.NewReader(input))
	if err != nil {
		return answer{failure: err.Error()}
	}
	req.Header.Set("Content-Type", "application/json")
	for name, value := range x.Headers {
		switch http.CanonicalHeaderKey(name) {
		case "Content-Length", "Transfer-Encoding":
		default:
			req.Header.Set(name, h.header(x, limits, value))
		}
	}
	resp, err := h.cfg.HTTP.Do(req)
	if err != nil {
		return answer{failure: "it cannot be reached: " + urlError(err)}
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxOutput))
	switch {
	case err != nil:
		return answer{failure: "its answer broke off: " + err.Error()}
	case resp.StatusCode < 200 || resp.StatusCode > 299:
		return answer{failure: fmt.Sprintf("it answered %s", resp.Status)}
	case len(bytes.TrimSpace(body)) == 0:
		return answer{}
	}
	if text, err := jsonc.UTF8(body); err == nil {
		body = text
	}
	a := readOutput(spec, string(body), "", 0)
	if a.plain != "" {
		return answer{failure: "its answer is no JSON object"}
	}
	return a
}

// urlError is an error of the HTTP client without the URL, which may carry a secret.
func urlError(err error) string {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err.Error()
	}
	return err.Error()
}

var variable = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\$\{([A-Za-z_][A-Za-z0-9_]*)\}|\$([A-Za-z_][A-Za-z0-9_]*)`)
})

// header fills in the variables a handler may name; any other becomes empty.
func (h *Hooks) header(x *Handler, limits HTTPLimits, value string) string {
	return variable().ReplaceAllStringFunc(h.fill(value), func(v string) string {
		name := strings.Trim(v, "${}")
		if !slices.Contains(x.EnvVars, name) || (limits.Vars != nil && !slices.Contains(*limits.Vars, name)) {
			return ""
		}
		return h.cfg.Getenv(name)
	})
}

// urlAllowed compares the URL of a handler with the entries of allowedHttpHookUrls. An entry that is
// no pattern allows nothing.
func urlAllowed(entries []string, target string) bool {
	u, err := url.Parse(target)
	return err == nil && slices.ContainsFunc(entries, func(entry string) bool {
		p, err := netname.ParseURLPattern(entry)
		return err == nil && p.Allows(u)
	})
}

// callTool lets a tool of a connected server answer.
func (h *Hooks) callTool(ctx context.Context, spec Spec, x *Handler, input json.RawMessage) answer {
	if h.cfg.CallTool == nil {
		return answer{failure: "the server " + x.Server + " is not connected"}
	}
	var values any
	if err := json.Unmarshal(input, &values); err != nil {
		return answer{failure: err.Error()}
	}
	args := json.RawMessage("{}")
	if len(x.Input) > 0 {
		var template any
		if err := json.Unmarshal(x.Input, &template); err != nil {
			return answer{failure: err.Error()}
		}
		filled, err := json.Marshal(fillIn(template, values))
		if err != nil {
			return answer{failure: err.Error()}
		}
		args = filled
	}
	text, isError, err := h.cfg.CallTool(ctx, x.Server, x.Tool, args)
	switch {
	case err != nil:
		return answer{failure: err.Error()}
	case isError:
		return answer{failure: "the tool failed: " + firstLine(text)}
	}
	return readOutput(spec, text, "", 0)
}

var field = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\$\{([A-Za-z0-9_.]+)\}`) })

// fillIn replaces ${path.to.field} in every string of a template by the value of the input.
func fillIn(template, values any) any {
	switch t := template.(type) {
	case map[string]any:
		out := map[string]any{}
		for k, v := range t {
			out[k] = fillIn(v, values)
		}
		return out
	case []any:
		out := make([]any, len(t))
		for i, v := range t {
			out[i] = fillIn(v, values)
		}
		return out
	case string:
		return field().ReplaceAllStringFunc(t, func(ref string) string { return lookup(values, ref[2:len(ref)-1]) })
	}
	return template
}

func lookup(values any, path string) string {
	for name := range strings.SplitSeq(path, ".") {
		m, ok := values.(map[string]any)
		if !ok {
			return ""
		}
		values = m[name]
	}
	switch v := values.(type) {
	case nil:
		return ""
	case string:
		return v
	}
	raw, err := json.Marshal(values)
	if err != nil {
		return ""
	}
	return string(raw)
}

// askModel lets a model, or an agent with read-only tools, answer.
func (h *Hooks) askModel(ctx context.Context, spec Spec, x *Handler, input json.RawMessage) answer {
	ask := h.cfg.Ask
	if x.Kind == Agent {
		ask = h.cfg.RunAgent
	}
	if ask == nil {
		return answer{failure: "no model can be asked here"}
	}
	text, err := ask(ctx, x.Model, fillPrompt(x.Prompt, input))
	if err != nil {
		return answer{failure: err.Error()}
	}
	return readVerdict(spec, x, text)
}

// fillPrompt puts the input in the place of $ARGUMENTS, or at the end; \$ is a dollar.
func fillPrompt(prompt string, input json.RawMessage) string {
	const dollar = "\x00"
	p := strings.ReplaceAll(prompt, `\$`, dollar)
	if strings.Contains(p, "$ARGUMENTS") {
		p = strings.ReplaceAll(p, "$ARGUMENTS", string(input))
	} else {
		p += "\n\n" + string(input)
	}
	return strings.ReplaceAll(p, dollar, "$") +
		"\n\nAnswer with one JSON object and nothing else: {\"ok\": true} or {\"ok\": false, \"reason\": \"…\"}."
}
