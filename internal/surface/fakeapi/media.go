package fakeapi

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"image"
	_ "image/gif"  // dimensions
	_ "image/jpeg" // dimensions
	_ "image/png"  // dimensions
	"strings"

	_ "golang.org/x/image/webp" // dimensions
)

// picture is one image of a request.
type picture struct {
	path          string
	encoded       int // bytes as base64
	width, height int
}

const (
	maxEncodedImage = 5 << 20 // bytes of base64
	maxPixels       = 8000
	manyImages      = 20   // more than these in one request …
	maxPixelsOfMany = 2000 // … must keep within this
)

// readImage decodes an image's head and checks what concerns it alone.
func (c *check) readImage(path, mediaType, data string) ([]byte, picture) {
	raw, err := base64.StdEncoding.DecodeString(data)
	if err != nil || len(raw) == 0 {
		c.bad("%s: Invalid base64 data", path)
		return nil, picture{}
	}
	p := picture{path: path, encoded: len(data)}
	if p.encoded > maxEncodedImage {
		c.bad("%s: image exceeds 5 MB maximum: %d bytes > %d bytes", path, p.encoded, maxEncodedImage)
	}
	cfg, format, err := image.DecodeConfig(bytes.NewReader(raw))
	if err != nil {
		c.bad("Could not process image")
		return raw, p
	}
	if mediaType != "image/"+format {
		c.bad("%s: Image does not match the provided media type %s", path, mediaType)
	}
	p.width, p.height = cfg.Width, cfg.Height
	if p.width > maxPixels || p.height > maxPixels {
		c.bad("%s: At least one of the image dimensions exceed max allowed size: %d pixels", path, maxPixels)
	}
	return raw, p
}

// many checks what concerns the images of a request together.
func (c *check) many(all []picture) {
	if len(all) <= manyImages {
		return
	}
	for _, p := range all {
		if p.width > maxPixelsOfMany || p.height > maxPixelsOfMany {
			c.bad("%s: At least one of the image dimensions exceed max allowed size for many-image requests: %d pixels", p.path, maxPixelsOfMany)
		}
	}
}

// dataURL splits data:TYPE;base64,DATA.
func dataURL(url string) (mediaType, data string, err error) {
	rest, ok := strings.CutPrefix(url, "data:")
	if !ok {
		return "", "", fmt.Errorf("expected a data URL or https, got %.40q", url)
	}
	mediaType, data, ok = strings.Cut(rest, ";base64,")
	if !ok {
		return "", "", fmt.Errorf("expected base64 data, got %.40q", url)
	}
	return mediaType, data, nil
}
