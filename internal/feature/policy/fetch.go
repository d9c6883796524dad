package policy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"
)

const maxRedirects = 5

// fetch asks the origin. last is the copy there is, whose entity tag saves sending it again; a
// confirmation (304) returns it.
func fetch(ctx context.Context, client *http.Client, s Setting, last *document) (document, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL, nil)
	if err != nil {
		return document{}, err
	}
	req.Header.Set("Accept", "application/json")
	if last != nil && last.ETag != "" {
		req.Header.Set("If-None-Match", last.ETag)
	}
	resp, err := withoutStraying(client).Do(req)
	if err != nil {
		return document{}, reason(ctx, err)
	}
	defer resp.Body.Close()
	switch {
	case resp.StatusCode == http.StatusNotModified && last != nil:
		return *last, nil
	case resp.StatusCode != http.StatusOK:
		return document{}, fmt.Errorf("it answered %s", resp.Status)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, MaxBody+1))
	if err != nil {
		return document{}, reason(ctx, err)
	}
	if len(body) > MaxBody {
		return document{}, fmt.Errorf("the document is bigger than %d bytes", MaxBody)
	}
	return document{Body: body, ETag: resp.Header.Get("ETag")}, nil
}

// withoutStraying is a copy of the client that follows redirects within the host alone, never from
// https to http, and keeps no cookies.
func withoutStraying(client *http.Client) *http.Client {
	c := http.Client{Timeout: fetchTimeout + time.Second}
	if client != nil {
		c = *client
	}
	c.Jar = nil
	c.CheckRedirect = func(req *http.Request, via []*http.Request) error {
		from := via[0].URL
		switch {
		case len(via) > maxRedirects:
			return fmt.Errorf("more than %d redirects", maxRedirects)
		case req.URL.Host != from.Host:
			return fmt.Errorf("it redirects to another host, %s", req.URL.Host)
		case from.Scheme == "https" && req.URL.Scheme != "https":
			return errors.New("it redirects from https to http")
		}
		return nil
	}
	return &c
}

// reason leaves the address out, which may hold a token, and tells a time limit from the rest.
func reason(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	var ue *url.Error
	if errors.As(err, &ue) {
		return ue.Err
	}
	return err
}
