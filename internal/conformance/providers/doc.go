// Package conformance holds the clients of internal/providers against the official SDKs of the
// services: both read the same streams, from recordings and from the fake servers, and must
// understand the same; and the bodies our clients send must be ones the SDKs' types can hold
// without losing a field.
//
// It is a module of its own with its own versions. Run it with `go test ./...` here.
package conformance
