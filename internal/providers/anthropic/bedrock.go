package anthropic

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/protocol/eventstream"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"github.com/myelin-agent/myelin/internal/core/provider"
	"github.com/myelin-agent/myelin/internal/providers/wire"
)

// bedrockVersion stands in the body of requests to Bedrock.
const bedrockVersion = "bedrock-2023-05-31"

// Bedrock says how Anthropic's models are asked on Amazon Bedrock (InvokeModel and
// InvokeModelWithResponseStream).
type Bedrock struct {
	Region  string
	BaseURL string // empty: by region
	Bearer  string // a Bedrock API key (AWS_BEARER_TOKEN_BEDROCK); it wins over Credentials
	// Credentials are asked before each request. See [AWSCredentials].
	Credentials func(ctx context.Context) (AWSKeys, error)
	Now         func() time.Time // nil: time.Now; stands in the signature
}

// AWSKeys are what a request is signed with.
type AWSKeys struct {
	AccessKeyID     string
	SecretAccessKey string
	SessionToken    string    // of temporary keys
	Expires         time.Time // zero: not told
}

func authError(err error) error {
	return &provider.Error{Kind: provider.KindAuth, Provider: Name, Message: err.Error(), Cause: err}
}

func (b *Bedrock) prepare(c *wire.Call, model string, p purpose, stream bool) error {
	if b.Region == "" && b.BaseURL == "" {
		return authError(errors.New("Bedrock needs a region (AWS_REGION)"))
	}
	base := b.BaseURL
	if base == "" {
		base = "https://bedrock-runtime." + b.Region + ".amazonaws.com"
	}
	method := "invoke"
	switch {
	case p == toCount:
		method = "count-tokens"
		body, err := json.Marshal(map[string]any{"input": map[string]any{"invokeModel": map[string]any{"body": countable(c.Body.Bytes())}}})
		if err != nil {
			return err
		}
		c.Body = wire.Body{body}
	case stream:
		method = "invoke-with-response-stream"
	}
	c.URL = base + "/model/" + url.PathEscape(model) + "/" + method
	if b.Bearer != "" {
		c.Header.Set("Authorization", "Bearer "+b.Bearer)
		c.Secrets = []string{b.Bearer}
		return nil
	}
	c.Sign = b.sign
	return nil
}

// countable gives the body the limit that the service demands also where it only counts.
func countable(body []byte) []byte {
	return bytes.Replace(body, []byte(`{"anthropic_version":"`+bedrockVersion+`"`), []byte(`{"anthropic_version":"`+bedrockVersion+`","max_tokens":1`), 1)
}

func (b *Bedrock) sign(r *http.Request, body []byte) error {
	if b.Credentials == nil {
		return errors.New("no AWS credentials were found")
	}
	keys, err := b.Credentials(r.Context())
	if err != nil {
		return err
	}
	now := time.Now
	if b.Now != nil {
		now = b.Now
	}
	sum := sha256.Sum256(body)
	creds := aws.Credentials{AccessKeyID: keys.AccessKeyID, SecretAccessKey: keys.SecretAccessKey, SessionToken: keys.SessionToken}
	return v4.NewSigner().SignHTTP(r.Context(), creds, r, hex.EncodeToString(sum[:]), "bedrock", b.Region, now())
}

func isEventStream(h http.Header) bool {
	t, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	return err == nil && t == "application/vnd.amazon.eventstream"
}

// eventStreamFrames reads Amazon's framing of the same events.
func eventStreamFrames(body io.Reader) func() ([]byte, error) {
	decoder := eventstream.NewDecoder()
	var buf []byte
	return func() ([]byte, error) {
		m, err := decoder.Decode(body, buf)
		if err != nil {
			return nil, err
		}
		buf = m.Payload[:0]
		return frameData(m)
	}
}

func frameData(m eventstream.Message) ([]byte, error) {
	header := func(name string) string {
		if v := m.Headers.Get(name); v != nil {
			return v.String()
		}
		return ""
	}
	switch header(":message-type") {
	case "event":
		if header(":event-type") != "chunk" {
			return nil, nil
		}
		var chunk struct {
			Bytes string `json:"bytes"`
		}
		if err := json.Unmarshal(m.Payload, &chunk); err != nil {
			return nil, fmt.Errorf("a chunk is not valid JSON: %w", err)
		}
		return base64.StdEncoding.DecodeString(chunk.Bytes)
	case "exception":
		f := wire.ParseError(m.Payload)
		if kind := header(":exception-type"); kind != "" {
			f.Type = kind
		}
		return nil, f.Error(Name)
	case "error":
		return nil, wire.Fault{Type: header(":error-code"), Message: header(":error-message")}.Error(Name)
	}
	return nil, nil // a kind of a later version
}
