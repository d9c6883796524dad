package anthropic

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/google"

	"github.com/myelin-agent/myelin/internal/providers/wire"
)

// vertexVersion stands in the body of requests to Vertex AI.
const vertexVersion = "vertex-2023-10-16"

// Vertex says how Anthropic's models are asked on Google Vertex AI. Copy it only before its use.
type Vertex struct {
	Project string
	Region  string // "global", "us", "eu" or a location like europe-west1
	BaseURL string // empty: by region
	// Token gives access tokens. Nil: Google's application default credentials.
	Token oauth2.TokenSource

	once   sync.Once // guards the two below
	source oauth2.TokenSource
	err    error
}

const cloudScope = "https://www.googleapis.com/auth/cloud-platform"

func (v *Vertex) tokens() (oauth2.TokenSource, error) {
	if v.Token != nil {
		return v.Token, nil
	}
	v.once.Do(func() {
		// The source outlives this request, so it must not end with the request's context.
		v.source, v.err = google.DefaultTokenSource(context.Background(), cloudScope)
	})
	return v.source, v.err
}

func (v *Vertex) baseURL() string {
	switch {
	case v.BaseURL != "":
		return v.BaseURL
	case v.Region == "global":
		return "https://aiplatform.googleapis.com"
	case v.Region == "us" || v.Region == "eu":
		return "https://aiplatform." + v.Region + ".rep.googleapis.com"
	}
	return "https://" + v.Region + "-aiplatform.googleapis.com"
}

func (v *Vertex) prepare(ctx context.Context, c *wire.Call, model string, p purpose, stream bool) error {
	if v.Project == "" || v.Region == "" {
		return authError(errors.New("Vertex AI needs a project (ANTHROPIC_VERTEX_PROJECT_ID) and a region (CLOUD_ML_REGION)"))
	}
	method := model + ":rawPredict"
	switch {
	case p == toCount:
		method = "count-tokens:rawPredict"
	case stream:
		method = model + ":streamRawPredict"
	}
	c.URL = fmt.Sprintf("%s/v1/projects/%s/locations/%s/publishers/anthropic/models/%s",
		v.baseURL(), url.PathEscape(v.Project), url.PathEscape(v.Region), method)
	c.Sign = func(r *http.Request, _ []byte) error {
		source, err := v.tokens()
		if err != nil {
			return fmt.Errorf("find Google credentials: %w", err)
		}
		token, err := source.Token()
		if err != nil {
			return fmt.Errorf("ask for a Google access token: %w", err)
		}
		token.SetAuthHeader(r)
		return ctx.Err()
	}
	return nil
}
