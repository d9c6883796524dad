package bash

import (
	"bytes"
	"encoding/base64"
	"image"
	_ "image/gif"  // dimensions of gif
	_ "image/jpeg" // dimensions of jpeg
	_ "image/png"  // dimensions of png
	"strings"

	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/sys/nolink"
	"github.com/myelin-agent/myelin/internal/sys/proc"
)

// What model services take of one picture: encoded size, and pixels on a side.
const (
	imageBytes  = 5 << 20 // of base64
	imagePixels = 8000
)

// image returns the picture that the command printed as a data URI, if that is all it printed and a
// model can take it.
func (j *job) image(exit proc.Exit, how ending) (msg.Image, bool) {
	if exit.Code != 0 || how != (ending{}) || j.capture.Total() > imageBytes+1024 {
		return msg.Image{}, false
	}
	front, end, between := j.capture.Ends(len("data:image/"), imageBytes+1024)
	if !bytes.HasPrefix(front, []byte("data:image/")) {
		return msg.Image{}, false
	}
	whole := append(front, end...)
	if between > 0 {
		j.capture.Flush()
		data, err := nolink.ReadFile(j.capture.Path(), imageBytes+1024)
		if err != nil {
			return msg.Image{}, false
		}
		whole = data
	}
	return parseImage(strings.TrimSpace(string(whole)))
}

func parseImage(uri string) (msg.Image, bool) {
	head, body, ok := strings.Cut(strings.TrimPrefix(uri, "data:"), ";base64,")
	if !ok {
		return msg.Image{}, false
	}
	switch head {
	case "image/png", "image/jpeg", "image/gif", "image/webp":
	default:
		return msg.Image{}, false
	}
	data, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(body), ""))
	if err != nil || len(data) == 0 {
		return msg.Image{}, false
	}
	if head != "image/webp" {
		cfg, kind, err := image.DecodeConfig(bytes.NewReader(data))
		if err != nil || "image/"+kind != head || cfg.Width > imagePixels || cfg.Height > imagePixels {
			return msg.Image{}, false
		}
	}
	return msg.Image{MediaType: head, Data: data}, true
}
