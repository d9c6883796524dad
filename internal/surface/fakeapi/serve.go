package fakeapi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

// Serve serves cfg on a loopback address until ctx ends, prints the base URL a client wants as one
// line to out, and returns the script's first missed expectation, if any. An address that other
// machines can reach is refused: the server has no rights to protect, but its script may.
func Serve(ctx context.Context, out io.Writer, cfg Config, listen string) error {
	s, err := New(cfg)
	if err != nil {
		return err
	}
	host, _, err := net.SplitHostPort(listen)
	if err != nil {
		return fmt.Errorf("fake API: expected an address like 127.0.0.1:0, got %q: %w", listen, err)
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return fmt.Errorf("fake API: %q is no loopback address; use 127.0.0.1, ::1 or localhost", listen)
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", listen)
	if err != nil {
		return fmt.Errorf("fake API: %w", err)
	}
	if _, err := fmt.Fprintf(out, "http://%s%s\n", l.Addr(), basePath(cfg.API)); err != nil {
		return errors.Join(fmt.Errorf("fake API: print the address: %w", err), l.Close())
	}
	// Answers that hang on purpose end with ctx, not with the server's good will.
	server := &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second, BaseContext: func(net.Listener) context.Context { return ctx }}
	stopped := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stopped()
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("fake API: %w", err)
	}
	return s.Err()
}

// basePath is what a client's base URL has behind the host: OpenAI's clients expect /v1 there.
func basePath(api API) string {
	if api == OpenAIChat || api == OpenAIResponses {
		return "/v1"
	}
	return ""
}
