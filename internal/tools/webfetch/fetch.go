package webfetch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/base"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/commonmark"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/table"
)

// moved is a redirect to another host.
type moved struct{ from, to string }

func (m *moved) Error() string {
	return fmt.Sprintf("%s redirects to another host: %s\nIt was not followed. To read it, call WebFetch with that address.", m.from, m.to)
}

// fetch gets one page from the web.
func (f *fetcher) fetch(ctx context.Context, address string) (page, error) {
	u, err := f.address(address)
	if err != nil {
		return page{}, err
	}
	for range maxRedirects + 1 {
		p, next, err := f.once(ctx, u)
		if err != nil || next == nil {
			return p, err
		}
		if !sameHost(u, next) {
			return page{}, &moved{u.String(), next.String()}
		}
		u = next
	}
	return page{}, fmt.Errorf("it redirects more than %d times", maxRedirects)
}

// sameHost compares canonical hosts; "www." makes no other host.
func sameHost(a, b *url.URL) bool {
	bare := func(u *url.URL) string {
		return strings.TrimPrefix(u.Hostname(), "www.")
	}
	return bare(a) == bare(b)
}

// once makes one request. next is where it redirects to.
func (f *fetcher) once(ctx context.Context, u *url.URL) (p page, next *url.URL, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return page{}, nil, err
	}
	req.Header.Set("User-Agent", f.UserAgent)
	req.Header.Set("Accept", "text/markdown, text/html;q=0.9, text/plain;q=0.8, */*;q=0.5")
	resp, err := f.guard.do(req)
	if err != nil {
		return page{}, nil, bare(err)
	}
	defer func() { err = errors.Join(err, resp.Body.Close()) }()
	if at := resp.Header.Get("Location"); at != "" && resp.StatusCode >= 300 && resp.StatusCode < 400 {
		to, err := u.Parse(at)
		if err == nil {
			next, err = f.address(to.String())
		}
		if err != nil {
			return page{}, nil, fmt.Errorf("it redirects to an address that cannot be used: %w", err)
		}
		return page{}, next, nil
	}
	p, err = f.read(ctx, u, resp)
	return p, nil, err
}

// bare takes the address off the errors of the http client: it is told once, by who reports.
func bare(err error) error {
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		return wrapped.Err
	}
	return err
}

// read takes the text out of an answer.
func (f *fetcher) read(ctx context.Context, u *url.URL, resp *http.Response) (page, error) {
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxBody+1))
	if err != nil {
		return page{}, fmt.Errorf("read the answer: %w", err)
	}
	if len(body) > maxBody {
		return page{}, fmt.Errorf("the answer is larger than %d MB", maxBody>>20)
	}
	p, err := textOf(ctx, u, resp.Header.Get("Content-Type"), body)
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return page{}, refusedBy(resp.StatusCode, p.Text)
	}
	p.URL, p.Code, p.Bytes = u.String(), resp.StatusCode, len(body)
	return p, err
}

// refusedBy is an answer that is no success, with the beginning of what it says.
func refusedBy(code int, text string) error {
	text = strings.TrimSpace(chars(text, 0, 500))
	if text == "" {
		return fmt.Errorf("the server answered %d %s", code, http.StatusText(code))
	}
	return fmt.Errorf("the server answered %d %s:\n%s", code, http.StatusText(code), text)
}

// textOf makes the text of a page of a body: HTML becomes Markdown, other text stays as it is.
func textOf(ctx context.Context, u *url.URL, contentType string, body []byte) (p page, err error) {
	if contentType == "" {
		contentType = http.DetectContentType(body)
	}
	kind, params, err := mime.ParseMediaType(contentType)
	if err != nil {
		kind, _, _ = strings.Cut(contentType, ";")
	}
	kind = strings.ToLower(strings.TrimSpace(kind))
	switch {
	case kind == "text/html" || kind == "application/xhtml+xml":
		p.Text, p.Note = decode(body, params["charset"])
		p.Text, p.Cut, err = markdown(ctx, u, p.Text)
		return p, err
	case isText(kind) || (kind == "application/octet-stream" && looksLikeText(body)):
		p.Text, p.Note = decode(body, params["charset"])
		return p, nil
	default:
		return p, fmt.Errorf("it is no text but %s (%d bytes); fetch it with a shell command if you need the file", kind, len(body))
	}
}

func isText(kind string) bool {
	if strings.HasPrefix(kind, "text/") || strings.HasSuffix(kind, "+json") || strings.HasSuffix(kind, "+xml") {
		return true
	}
	switch kind {
	case "application/json", "application/xml", "application/javascript", "application/x-javascript", "application/yaml", "application/x-yaml",
		"application/toml", "application/x-sh", "application/sql", "application/x-ndjson", "application/jsonl", "application/typescript":
		return true
	}
	return false
}

func looksLikeText(body []byte) bool {
	return utf8.Valid(body) && !bytes.ContainsRune(body, 0)
}

// maxHTML bounds what is converted; the text of larger pages is at their beginning.
const maxHTML = 3 << 20

// markdown converts a page. The converter cannot be stopped, so it runs beside; it ends by itself
// within about a second, since its input is bounded.
func markdown(ctx context.Context, u *url.URL, text string) (out string, cut bool, err error) {
	if len(text) > maxHTML {
		text, cut = strings.ToValidUTF8(text[:maxHTML], ""), true
	}
	type converted struct {
		text string
		err  error
	}
	done := make(chan converted, 1)
	go func() {
		defer func() { // a page must not end the program, whatever it holds
			if r := recover(); r != nil {
				done <- converted{err: fmt.Errorf("the page cannot be converted: %v", r)}
			}
		}()
		c := converter.NewConverter(
			converter.WithPlugins(base.NewBasePlugin(), commonmark.NewCommonmarkPlugin(), table.NewTablePlugin()),
			converter.WithEscapeMode(converter.EscapeModeDisabled),
		)
		text, err := c.ConvertString(text, converter.WithDomain(u.Scheme+"://"+u.Host))
		done <- converted{text, err}
	}()
	select {
	case c := <-done:
		return c.text, cut, c.err
	case <-ctx.Done():
		return "", cut, ctx.Err()
	}
}
