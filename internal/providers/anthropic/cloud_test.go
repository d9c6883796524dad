package anthropic_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws/protocol/eventstream"
	"github.com/google/go-cmp/cmp"
	"golang.org/x/oauth2"

	"github.com/myelin-agent/myelin/internal/core/provider"
	"github.com/myelin-agent/myelin/internal/providers/anthropic"
	"github.com/myelin-agent/myelin/internal/providers/contract"
)

// seen is one request as a server saw it.
type seen struct {
	path   string
	header http.Header
	body   []byte
}

// answering records the request and answers with what write writes.
func answering(t testing.TB, write func(w http.ResponseWriter)) (*seen, string) {
	t.Helper()
	var got seen
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		got = seen{r.URL.EscapedPath(), r.Header, body}
		write(w)
	}))
	t.Cleanup(server.Close)
	return &got, server.URL
}

// frame is one message of Amazon's event stream.
func frame(t testing.TB, headers map[string]string, payload string) []byte {
	t.Helper()
	m := eventstream.Message{Payload: []byte(payload)}
	for _, name := range []string{":message-type", ":event-type", ":exception-type", ":error-code", ":error-message"} {
		if v, ok := headers[name]; ok {
			m.Headers.Set(name, eventstream.StringValue(v))
		}
	}
	var buf bytes.Buffer
	if err := eventstream.NewEncoder().Encode(&buf, m); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

func chunk(t testing.TB, event string) []byte {
	t.Helper()
	payload := fmt.Sprintf(`{"bytes":%q,"p":"abc"}`, base64.StdEncoding.EncodeToString([]byte(event)))
	return frame(t, map[string]string{":message-type": "event", ":event-type": "chunk"}, payload)
}

func bedrock(url string) anthropic.Config {
	return anthropic.Config{Info: info("us.anthropic.claude-opus-4-5-20251101-v1:0"), Bedrock: &anthropic.Bedrock{
		Region: "eu-west-1", BaseURL: url, Now: func() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) },
		Credentials: func(context.Context) (anthropic.AWSKeys, error) {
			return anthropic.AWSKeys{AccessKeyID: "AKIDEXAMPLE", SecretAccessKey: "secret", SessionToken: "session"}, nil
		},
	}}
}

func helloOnBedrock(t testing.TB, w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/vnd.amazon.eventstream")
	for _, event := range []string{
		begin, `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"hello"}}`,
		`{"type":"content_block_stop","index":0}`, `{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":2}}`,
		`{"type":"message_stop","amazon-bedrock-invocationMetrics":{"inputTokenCount":1}}`,
	} {
		if _, err := w.Write(chunk(t, event)); err != nil {
			t.Error(err)
		}
	}
}

func TestBedrock(t *testing.T) {
	got, url := answering(t, func(w http.ResponseWriter) { helloOnBedrock(t, w) })
	cfg := bedrock(url)
	cfg.Betas = []string{"a-2025-01-01"}
	a := hear(t, anthropic.New(cfg))
	if a.Err != nil || a.Text() != "hello" || a.Done.Usage.Output != 2 {
		t.Fatalf("%+v", a)
	}
	if want := "/model/us.anthropic.claude-opus-4-5-20251101-v1:0/invoke-with-response-stream"; got.path != want {
		t.Errorf("path is %s, want %s", got.path, want)
	}
	auth := got.header.Get("Authorization")
	for _, part := range []string{"AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20260102/eu-west-1/bedrock/aws4_request", "SignedHeaders=", "content-type", "x-amz-security-token", "Signature="} {
		if !strings.Contains(auth, part) {
			t.Errorf("%q is not in the signature %q", part, auth)
		}
	}
	var body map[string]json.RawMessage
	if err := json.Unmarshal(got.body, &body); err != nil {
		t.Fatal(err)
	}
	if string(body["anthropic_version"]) != `"bedrock-2023-05-31"` || string(body["anthropic_beta"]) != `["a-2025-01-01"]` || body["model"] != nil || body["stream"] != nil {
		t.Errorf("body is %s", got.body)
	}
}

func TestBedrockSignsTheSameRequestTheSameWay(t *testing.T) {
	got, url := answering(t, func(w http.ResponseWriter) { helloOnBedrock(t, w) })
	m := anthropic.New(bedrock(url))
	hear(t, m)
	first := got.header.Get("Authorization")
	hear(t, m)
	if first == "" || got.header.Get("Authorization") != first {
		t.Error("two equal requests at one time have two signatures")
	}
}

func TestBedrockWithAKeyOfItsOwn(t *testing.T) {
	got, url := answering(t, func(w http.ResponseWriter) { helloOnBedrock(t, w) })
	cfg := bedrock(url)
	cfg.Bedrock.Bearer = "bedrock-key"
	if a := hear(t, anthropic.New(cfg)); a.Err != nil || got.header.Get("Authorization") != "Bearer bedrock-key" {
		t.Errorf("error %v, header %q", a.Err, got.header.Get("Authorization"))
	}
}

func TestBedrockErrors(t *testing.T) {
	tests := []struct {
		frame []byte
		kind  provider.Kind
	}{
		{frame(t, map[string]string{":message-type": "exception", ":exception-type": "throttlingException"}, `{"message":"Too many requests"}`), provider.KindRateLimit},
		{frame(t, map[string]string{":message-type": "exception", ":exception-type": "validationException"}, `{"message":"Input is too long for requested model."}`), provider.KindTooLong},
		{frame(t, map[string]string{":message-type": "exception", ":exception-type": "modelStreamErrorException"}, `{"message":"x"}`), provider.KindServer},
		{frame(t, map[string]string{":message-type": "error", ":error-code": "InternalServerException", ":error-message": "y"}, ""), provider.KindServer},
		{frame(t, map[string]string{":message-type": "event", ":event-type": "chunk"}, `no json`), provider.KindStream},
		{[]byte("garbage that is no frame at all"), provider.KindStream},
		{nil, provider.KindStream},
	}
	for _, tt := range tests {
		_, url := answering(t, func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "application/vnd.amazon.eventstream")
			_, _ = w.Write(append(chunk(t, begin), tt.frame...))
		})
		if a := hear(t, anthropic.New(bedrock(url))); provider.KindOf(a.Err) != tt.kind {
			t.Errorf("%q: error %v, want %s", tt.frame, a.Err, tt.kind)
		}
	}
	cfg := bedrock("http://127.0.0.1:1")
	cfg.Bedrock.Credentials = func(context.Context) (anthropic.AWSKeys, error) { return anthropic.AWSKeys{}, errors.New("no keys") }
	if a := hear(t, anthropic.New(cfg)); provider.KindOf(a.Err) != provider.KindAuth || !strings.Contains(a.Err.Error(), "no keys") {
		t.Errorf("error is %v", a.Err)
	}
}

func TestBedrockCountsTokens(t *testing.T) {
	got, url := answering(t, func(w http.ResponseWriter) { fmt.Fprint(w, `{"inputTokens":77}`) })
	n, err := anthropic.New(bedrock(url)).CountTokens(t.Context(), contract.Request())
	if err != nil || n != 77 || !strings.HasSuffix(got.path, "/count-tokens") {
		t.Errorf("%d tokens, error %v, path %s", n, err, got.path)
	}
	var body struct {
		Input struct {
			InvokeModel struct {
				Body []byte `json:"body"`
			} `json:"invokeModel"`
		} `json:"input"`
	}
	if err := json.Unmarshal(got.body, &body); err != nil || !bytes.Contains(body.Input.InvokeModel.Body, []byte(`"max_tokens":1`)) {
		t.Errorf("body is %s (%s)", got.body, body.Input.InvokeModel.Body)
	}
}

func TestVertex(t *testing.T) {
	got, url := answering(t, func(w http.ResponseWriter) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, stream(begin, `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"hello"}}`, `{"type":"content_block_stop","index":0}`, good, stop))
	})
	m := anthropic.New(anthropic.Config{Info: info("claude-opus-4-5@20251101"), Vertex: &anthropic.Vertex{
		Project: "my-project", Region: "europe-west1", BaseURL: url, Token: oauth2.StaticTokenSource(&oauth2.Token{AccessToken: "ya29"}),
	}})
	if a := hear(t, m); a.Err != nil || a.Text() != "hello" {
		t.Fatalf("%+v", a)
	}
	if want := "/v1/projects/my-project/locations/europe-west1/publishers/anthropic/models/claude-opus-4-5@20251101:streamRawPredict"; got.path != want {
		t.Errorf("path is %s, want %s", got.path, want)
	}
	if got.header.Get("Authorization") != "Bearer ya29" {
		t.Errorf("authorization is %q", got.header.Get("Authorization"))
	}
	var body map[string]json.RawMessage
	if err := json.Unmarshal(got.body, &body); err != nil || string(body["anthropic_version"]) != `"vertex-2023-10-16"` || body["model"] != nil || string(body["stream"]) != "true" {
		t.Errorf("body is %s", got.body)
	}
	unset := anthropic.New(anthropic.Config{Info: info("claude-opus-4-5"), Vertex: &anthropic.Vertex{Region: "global"}})
	if a := hear(t, unset); provider.KindOf(a.Err) != provider.KindAuth || !strings.Contains(a.Err.Error(), "ANTHROPIC_VERTEX_PROJECT_ID") {
		t.Errorf("error is %v", a.Err)
	}
}

func TestAWSCredentials(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	credentials := write("credentials", "[default]\naws_access_key_id = AKID1\naws_secret_access_key=secret1\n# a comment\n\n[other]\naws_access_key_id=AKID2\naws_secret_access_key=secret2\naws_session_token=token2\n")
	config := write("config", "[default]\nregion=x\n[profile asked]\ncredential_process = printf '{\"Version\":1,\"AccessKeyId\":\"AKID3\",\"SecretAccessKey\":\"secret3\",\"Expiration\":\"2100-01-01T00:00:00Z\"}'\n[profile broken]\ncredential_process = exit 3\n[profile mute]\ncredential_process = echo hello secret-text\n")
	env := func(pairs ...string) func(string) string {
		return func(name string) string {
			for _, p := range append(pairs, "AWS_SHARED_CREDENTIALS_FILE="+credentials, "AWS_CONFIG_FILE="+config) {
				if k, v, _ := strings.Cut(p, "="); k == name {
					return v
				}
			}
			return ""
		}
	}
	tests := []struct {
		name string
		env  func(string) string
		want anthropic.AWSKeys
		err  string
	}{
		{"environment", env("AWS_ACCESS_KEY_ID=AKID0", "AWS_SECRET_ACCESS_KEY=s0", "AWS_SESSION_TOKEN=t0"), anthropic.AWSKeys{AccessKeyID: "AKID0", SecretAccessKey: "s0", SessionToken: "t0"}, ""},
		{"default profile", env(), anthropic.AWSKeys{AccessKeyID: "AKID1", SecretAccessKey: "secret1"}, ""},
		{"named profile", env("AWS_PROFILE=other"), anthropic.AWSKeys{AccessKeyID: "AKID2", SecretAccessKey: "secret2", SessionToken: "token2"}, ""},
		{"process", env("AWS_PROFILE=asked"), anthropic.AWSKeys{AccessKeyID: "AKID3", SecretAccessKey: "secret3", Expires: time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)}, ""},
		{"process that fails", env("AWS_PROFILE=broken"), anthropic.AWSKeys{}, "credential_process of AWS profile broken"},
		{"process that says something else", env("AWS_PROFILE=mute"), anthropic.AWSKeys{}, "did not print the expected JSON"},
	}
	run := func(ctx context.Context, name string, args ...string) ([]byte, error) {
		return exec.CommandContext(ctx, name, args...).Output()
	}
	for _, tt := range tests {
		got, err := anthropic.AWSCredentials(tt.env, run)(t.Context())
		if tt.err == "" && err != nil || tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err) || strings.Contains(err.Error(), "secret-text")) {
			t.Errorf("%s: error is %v", tt.name, err)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: %s", tt.name, diff)
		}
	}
}

func FuzzBedrock(f *testing.F) {
	f.Add([]byte{})
	var whole []byte
	for _, event := range []string{begin, `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"x"}}`, stop} {
		payload := fmt.Sprintf(`{"bytes":%q}`, base64.StdEncoding.EncodeToString([]byte(event)))
		m := eventstream.Message{Payload: []byte(payload)}
		m.Headers.Set(":message-type", eventstream.StringValue("event"))
		m.Headers.Set(":event-type", eventstream.StringValue("chunk"))
		var buf bytes.Buffer
		if err := eventstream.NewEncoder().Encode(&buf, m); err != nil {
			f.Fatal(err)
		}
		whole = append(whole, buf.Bytes()...)
	}
	f.Add(whole)
	f.Add(whole[:len(whole)-5])
	f.Fuzz(func(t *testing.T, body []byte) {
		client := &http.Client{Transport: roundTrip(func(*http.Request) (*http.Response, error) {
			rec := httptest.NewRecorder()
			rec.Header().Set("Content-Type", "application/vnd.amazon.eventstream")
			rec.Body.Write(body)
			return rec.Result(), nil
		})}
		cfg := bedrock("http://fuzz")
		cfg.HTTP = client
		hear(t, anthropic.New(cfg))
	})
}
