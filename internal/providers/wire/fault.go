package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/myelin-agent/myelin/internal/core/provider"
)

// Fault is a refusal as a service words it, before it is told apart.
type Fault struct {
	Status     int
	Type       string // the service's error type or status word
	Code       string // the service's error code, where it has both
	Message    string
	RetryAfter time.Duration
	RequestID  string
	Media      bool // the request held images or documents
}

// maxMessage bounds what is kept of a service's words.
const maxMessage = 4000

// Error decides what can be done about the fault.
func (f Fault) Error(service string) *provider.Error {
	if len(f.Message) > maxMessage {
		f.Message = strings.ToValidUTF8(f.Message[:maxMessage], "") + "…"
	}
	kind, limit, input := f.classify()
	typ := f.Type
	if typ == "" {
		typ = f.Code
	}
	return &provider.Error{
		Kind: kind, Provider: service, Status: f.Status, Type: typ, Message: f.Message,
		RetryAfter: f.RetryAfter, RequestID: f.RequestID, Max: limit, Input: input,
	}
}

func (f Fault) classify() (kind provider.Kind, limit, input int) {
	words := strings.ToLower(f.Type + " " + f.Code + " " + f.Message)
	has := func(parts ...string) bool {
		for _, p := range parts {
			if strings.Contains(words, p) {
				return true
			}
		}
		return false
	}
	switch {
	case f.Status == 402, has("credit balance is too low", "insufficient_quota", "billing_error", "billing_hard_limit", "billing_not_active", "insufficient credits", "payment required", "exceeded your current quota, please check your plan and billing"):
		return provider.KindBilling, 0, 0
	case f.Status == 429, has("rate_limit_e", "too many requests", "throttlingexception", "resource_exhausted"):
		return provider.KindRateLimit, 0, 0
	case f.Status == 401, f.Status == 403, has("authentication_error", "permission_error", "invalid_api_key", "api key not valid", "api_key_invalid", "incorrect api key", "permission_denied", "unauthenticated", "accessdeniedexception", "unrecognizedclientexception", "expiredtokenexception"):
		return provider.KindAuth, 0, 0
	case f.Status == 529, f.Status == 503, has("overloaded", "serviceunavailableexception", "modelnotreadyexception", "slow_down"):
		return provider.KindOverloaded, 0, 0
	}
	// Services and gateways pass the same sentences on with other statuses, so the words decide.
	if kind, limit, input = tooMuch(f.Type + " " + f.Code + " " + f.Message); kind != "" {
		return kind, limit, input
	}
	switch {
	case has(mediaWords()...):
		return provider.KindMedia, 0, 0
	case f.Status == 413, has("request_too_large", "payload size exceeds the limit", "request entity too large"):
		if f.Media {
			return provider.KindMedia, 0, 0
		}
		return provider.KindTooLong, 0, 0
	case has(pairingWords()...):
		return provider.KindSignature, 0, 0
	case f.Status == 404, has("model_not_found", "not_found_error", "resourcenotfoundexception", "model identifier is invalid", "is not a valid model id"),
		has("model") && has("does not exist", "not found, try pulling", "not supported for generatecontent"):
		return provider.KindNotFound, 0, 0
	case f.Status == 501:
		return provider.KindUnsupported, 0, 0
	case f.Status >= 500, has("api_error", "server_error", "internalserverexception", "modelstreamerrorexception", "modeltimeoutexception", "timeout_error"):
		return provider.KindServer, 0, 0
	case f.Status == 408:
		return provider.KindServer, 0, 0
	case f.Status >= 400, has("invalid_request_error", "invalid_argument", "validationexception", "failed_precondition", "invalid_prompt"):
		return provider.KindInvalid, 0, 0
	}
	return provider.KindUnknown, 0, 0
}

// The sentences in which services refuse too much input. The first group is the input and what was
// asked for beside it, with the limit last; see the table in the tests for who says what.
var tooMuchPatterns = sync.OnceValue(func() []tooMuchPattern {
	p := func(kind provider.Kind, limit, input int, expr string) tooMuchPattern {
		return tooMuchPattern{regexp.MustCompile("(?is)" + expr), kind, limit, input}
	}
	const n = `[^0-9]{0,20}([0-9][0-9,_]*)`
	return []tooMuchPattern{
		p(provider.KindMaxTokens, 2, 1, "input length and .?max_tokens.? exceed context limit:"+n+`\s*\+\s*[0-9,]+\s*>`+n),
		p(provider.KindMaxTokens, 1, 0, "max_tokens: [0-9]+ > ([0-9]+), which is the maximum"),
		p(provider.KindMaxTokens, 1, 0, "max_(?:completion_|output_)?tokens is too large: [0-9]+. this model supports at most ([0-9]+)"),
		p(provider.KindMaxTokens, 1, 2, "max_(?:completion_)?tokens.{0,60}is too large: [0-9]+. this model's maximum context length is ([0-9]+) tokens and your request has ([0-9]+) input tokens"),
		p(provider.KindMaxTokens, 1, 0, `maxoutputtokens.{0,80}(?:less than or equal to|from 1 \(inclusive\) to) ([0-9]+)`),
		p(kindByNumbers, 1, 2, "maximum context length is ([0-9,]+) tokens.{0,80}requested (?:about )?[0-9,]+ tokens ?\\(([0-9,]+) in the (?:messages|prompt)"),
		p(kindByNumbers, 1, 2, "maximum context length is ([0-9,]+) tokens.{0,80}requested (?:about )?[0-9,]+ tokens ?\\(([0-9,]+) of text input"),
		p(provider.KindTooLong, 1, 2, "maximum context length is ([0-9,]+) tokens.{0,80}(?:resulted in|requested (?:about )?)\\s*([0-9,]+) tokens"),
		p(provider.KindTooLong, 2, 1, "prompt is too long:"+n+" tokens >"+n),
		p(provider.KindTooLong, 2, 1, `input token count \(?([0-9]+)\)? exceeds the maximum number of tokens allowed \(?([0-9]+)`),
		p(provider.KindTooLong, 1, 0, `input token count exceeds the maximum number of tokens allowed \(?([0-9]+)`),
		p(provider.KindTooLong, 2, 1, `request \(([0-9]+) tokens\) exceeds the available context size \(([0-9]+)`),
		p(provider.KindTooLong, 1, 2, "maximum prompt length is ([0-9,]+) but the request contains ([0-9,]+)"),
		p(provider.KindTooLong, 1, 0, "loaded with context length of only ([0-9]+)"),
		p(provider.KindTooLong, 1, 0, "too large for model with ([0-9]+) maximum context length"),
		p(provider.KindTooLong, 1, 2, `exceeded model token limit: ([0-9]+) \(requested: ([0-9]+)`),
		p(provider.KindTooLong, 1, 0, "(?:maximum context length|max(?:imum)? context size|context window)(?: of| is|:)? ([0-9,]+)"),
		p(provider.KindTooLong, 0, 0, "prompt is too long|prompt too long|input is too long|input (?:length )?exceeds (?:the |maximum )?context|"+
			"exceeds the context (?:window|length|limit)|exceeds? the available context size|exceed_context_size_error|context_length_exceeded|"+
			"context[_ ]?window[_ ]?exceed|contextwindowexceeded|context length exceeded|maximum context length|exceeded max context length|"+
			"greater than the context length|context window exceeds limit|reduce the length of the (?:messages|prompt|input)|"+
			"request exceeds the maximum size of the context|too many (?:input )?tokens in (?:the )?(?:prompt|request)|token limit exceeded"),
	}
})

// aboutSize finds the words one of which every sentence about too much input has.
var aboutSize = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile("(?i)token|context|too long|reduce the length|too large for model|prompt length")
})

// kindByNumbers stands for: too long when the input alone fills the window, else max_tokens.
const kindByNumbers provider.Kind = ""

type tooMuchPattern struct {
	expr         *regexp.Regexp
	kind         provider.Kind
	limit, input int // groups, 0: not told
}

// tooMuch tells a prompt that does not fit from an answer that was asked too large, with the limit
// and the size of the input where the service told them.
func tooMuch(text string) (kind provider.Kind, limit, input int) {
	// Most refusals are about something else, and the patterns are dear.
	if !aboutSize().MatchString(text) {
		return "", 0, 0
	}
	for _, p := range tooMuchPatterns() {
		m := p.expr.FindStringSubmatch(text)
		if m == nil {
			continue
		}
		limit, input = number(m, p.limit), number(m, p.input)
		if p.kind != kindByNumbers {
			return p.kind, limit, input
		}
		if input >= limit {
			return provider.KindTooLong, limit, input
		}
		return provider.KindMaxTokens, limit, input
	}
	return "", 0, 0
}

func number(m []string, group int) int {
	if group == 0 {
		return 0
	}
	n, err := strconv.Atoi(strings.NewReplacer(",", "", "_", "").Replace(m[group]))
	if err != nil {
		return 0 // more digits than a token count has: as if it was not told
	}
	return n
}

func mediaWords() []string {
	return []string{
		"image exceeds", "image dimensions exceed", "could not process image", "image_too_large", "image too large",
		"image_file_too_large", "image_parse_error", "invalid_image", "invalid_base64_image", "unsupported_image_media_type",
		"unsupported image", "unable to process input image", "too much media", "pdf pages may be provided", "pdf specified was not valid",
		"pdf is password protected", "could not process pdf", "image is too large", "too many images", "empty_image_file",
		"failed to process image", "cannot identify image", "failed to decode image", "media_too_large", "document exceeds",
		"unsupported mime type", "does not support image", "image input is not supported", "image_url is only supported",
	}
}

func pairingWords() []string {
	return []string{
		"`signature` in `thinking`", "signature in thinking", "expected `thinking`", "expected thinking", "`thinking` or `redacted_thinking` blocks",
		"thought_signature", "thought signature", "thinking.signature", "`tool_use` ids were found without", "unexpected `tool_use_id`",
		"`tool_use` ids must be unique", "tool_use ids were found without", "each `tool_result` block must have", "must be followed by tool messages",
		"messages with role 'tool' must be", "no tool output found for", "no tool call found for", "number of function response parts",
		"function call turn comes immediately", "function response turn comes immediately", "without its required", "encrypted content",
		"encrypted_content", "the block is bound to",
	}
}

// ParseError reads the error shapes in use: {"error":{"type","code","message"}} with or without a
// "type":"error" beside it, {"error":"text"}, {"message":"text"}, {"detail":"text"}, an array of
// one of these, the same as a string of JSON inside (gateways do that), and plain text.
func ParseError(body []byte) Fault {
	return parseError(bytes.TrimSpace(body), 3)
}

func parseError(body []byte, depth int) Fault {
	if len(body) > 0 && body[0] == '[' {
		var list []json.RawMessage
		if json.Unmarshal(body, &list) == nil && len(list) > 0 {
			body = list[0]
		}
	}
	var in struct {
		Error     json.RawMessage `json:"error"`
		Message   string          `json:"message"`
		Type      string          `json:"__type"`
		Detail    json.RawMessage `json:"detail"`
		RequestID string          `json:"request_id"`
	}
	if json.Unmarshal(body, &in) != nil {
		return Fault{Message: plainText(body)}
	}
	f := Fault{Message: in.Message, Type: in.Type}
	var text string
	switch {
	case json.Unmarshal(in.Error, &text) == nil && text != "":
		f.Message = text
	case len(in.Error) > 0 && in.Error[0] == '{':
		f = errorObject(in.Error)
	case f.Message == "" && json.Unmarshal(in.Detail, &text) == nil && text != "":
		f.Message = text
	case f.Message == "" && details(in.Detail) != "":
		f.Message = details(in.Detail)
	case f.Message == "":
		f.Message = plainText(body)
	}
	if f.RequestID == "" {
		f.RequestID = in.RequestID
	}
	if at := strings.IndexByte(f.Message, '{'); at >= 0 && depth > 0 && json.Valid([]byte(f.Message[at:])) {
		if inner := parseError([]byte(f.Message[at:]), depth-1); inner.Type != "" || inner.Code != "" {
			inner.RetryAfter = max(inner.RetryAfter, f.RetryAfter)
			return inner
		}
	}
	return f
}

func errorObject(raw json.RawMessage) Fault {
	var e struct {
		Type     string          `json:"type"`
		Code     json.RawMessage `json:"code"` // a word, or Google's repetition of the status
		Status   string          `json:"status"`
		Message  string          `json:"message"`
		Upstream json.RawMessage `json:"upstream_error"`
		Details  []struct {
			Reason     string `json:"reason"`
			RetryDelay string `json:"retryDelay"`
		} `json:"details"`
		Metadata struct {
			Raw json.RawMessage `json:"raw"` // OpenRouter: what the provider behind it said
		} `json:"metadata"`
	}
	if json.Unmarshal(raw, &e) != nil {
		return Fault{Message: plainText(raw)}
	}
	f := Fault{Type: e.Type, Message: e.Message}
	if f.Type == "" {
		f.Type = e.Status
	}
	var code string
	if json.Unmarshal(e.Code, &code) == nil {
		f.Code = code
	}
	for _, d := range e.Details {
		if wait, err := time.ParseDuration(d.RetryDelay); err == nil {
			f.RetryAfter = wait
		}
		if d.Reason != "" && f.Code == "" {
			f.Code = d.Reason
		}
	}
	var upstream string
	if json.Unmarshal(e.Metadata.Raw, &upstream) == nil && upstream != "" {
		f.Message += ": " + upstream
	}
	if f.Message == "" && len(e.Upstream) > 0 {
		return parseError(e.Upstream, 1)
	}
	return f
}

// plainText is the beginning of a body that is no known JSON.
func plainText(body []byte) string {
	text := strings.Join(strings.Fields(strings.ToValidUTF8(string(body), "\uFFFD")), " ")
	const most = 500
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	if text == "" {
		return "the service gave no reason"
	}
	return text
}

// RetryAfter reads how long a service asks to wait, from retry-after-ms or from retry-after in
// seconds or as a date. Zero: not told.
func RetryAfter(h http.Header, now time.Time) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil && ms > 0 {
		return time.Duration(ms * float64(time.Millisecond))
	}
	v := h.Get("Retry-After")
	if s, err := strconv.ParseFloat(v, 64); err == nil {
		return max(time.Duration(s*float64(time.Second)), 0)
	}
	if at, err := http.ParseTime(v); err == nil {
		return max(at.Sub(now), 0)
	}
	return 0
}

// details words a list of what is wrong where, without the request that such a list repeats.
func details(raw json.RawMessage) string {
	var list []struct {
		Loc []any  `json:"loc"`
		Msg string `json:"msg"`
	}
	if json.Unmarshal(raw, &list) != nil {
		return ""
	}
	var out []string
	for _, d := range list {
		if d.Msg == "" {
			continue
		}
		if len(d.Loc) > 1 && d.Loc[0] == any("body") {
			d.Loc = d.Loc[1:]
		}
		at := make([]string, len(d.Loc))
		for i, part := range d.Loc {
			at[i] = fmt.Sprint(part)
		}
		out = append(out, strings.Join(at, ".")+": "+d.Msg)
	}
	return strings.Join(out, "; ")
}
