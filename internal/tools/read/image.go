package read

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"
	"io/fs"
	"math"

	"golang.org/x/image/draw"
	"golang.org/x/image/webp"

	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/tool"
	"github.com/myelin-agent/myelin/internal/sys/textfile"
)

// What a picture may be on its way into a conversation. Services refuse a request with a larger one,
// and then every later request of the conversation too; with many pictures in one request the
// limit is 2000 pixels a side.
const (
	maxSide      = 2000
	maxEncoded   = 500 << 10        // bytes; more is written anew as JPEG
	maxImageFile = 64 << 20         // bytes of the file
	maxPixels    = 64 * 1000 * 1000 // of the picture as it is in the file: what decoding takes memory for
)

type imageOutput struct {
	Type string    `json:"type"`
	File imageFile `json:"file"`
}

type imageFile struct {
	Base64       string     `json:"base64"`
	Type         string     `json:"type"`
	OriginalSize int64      `json:"originalSize"`
	Dimensions   dimensions `json:"dimensions"`
}

type dimensions struct {
	OriginalWidth  int `json:"originalWidth"`
	OriginalHeight int `json:"originalHeight"`
	DisplayWidth   int `json:"displayWidth"`
	DisplayHeight  int `json:"displayHeight"`
}

// picture is an image ready for a model.
type picture struct {
	data  []byte
	media string
	size  dimensions
}

func (r *reader) image(in Input, info fs.FileInfo, call tool.Call) (tool.Result, error) {
	raw, _, err := textfile.ReadReal(in.real, maxImageFile)
	var large *textfile.TooLargeError
	switch {
	case errors.As(err, &large):
		return tool.Failed(fmt.Sprintf("%s is an image that %v.", in.FilePath, large)), nil
	case err != nil:
		return refuse(in, call, err)
	}
	pic, err := prepare(raw)
	if err != nil {
		return tool.Failed(fmt.Sprintf("%s cannot be shown: %v.", in.FilePath, err)), nil
	}
	if r.w.Images != nil && !r.w.Images() {
		return tool.Failed(fmt.Sprintf("%s is an image (%s, %dx%d pixels), and the model in use does not see images.",
			in.FilePath, pic.media, pic.size.OriginalWidth, pic.size.OriginalHeight)), nil
	}
	content := []msg.Block{msg.Image{MediaType: pic.media, Data: pic.data}}
	if d := pic.size; d.DisplayWidth != d.OriginalWidth {
		content = append(content, msg.Text{Text: fmt.Sprintf("[shown at %dx%d pixels; the file has %dx%d, so multiply positions by %.2f]",
			d.DisplayWidth, d.DisplayHeight, d.OriginalWidth, d.OriginalHeight, float64(d.OriginalWidth)/float64(d.DisplayWidth))})
	}
	return shown(imageOutput{"image", imageFile{base64.StdEncoding.EncodeToString(pic.data), pic.media, info.Size(), pic.size}}, content...)
}

// decoder is how one kind of picture is read.
type decoder struct {
	media  string
	config func([]byte) (image.Config, error)
	decode func([]byte) (image.Image, error)
}

func decoderOf(raw []byte) (decoder, bool) {
	switch textfile.Kind(raw) {
	case "PNG image":
		return decoder{"image/png", config(png.DecodeConfig), decode(png.Decode)}, true
	case "JPEG image":
		return decoder{"image/jpeg", config(jpeg.DecodeConfig), decode(jpeg.Decode)}, true
	case "GIF image":
		return decoder{"image/gif", config(gif.DecodeConfig), decode(gif.Decode)}, true
	case "WebP image":
		return decoder{"image/webp", config(webp.DecodeConfig), decode(webp.Decode)}, true
	}
	return decoder{}, false
}

func config(f func(io.Reader) (image.Config, error)) func([]byte) (image.Config, error) {
	return func(raw []byte) (image.Config, error) { return f(bytes.NewReader(raw)) }
}

// decode makes a panic of a decoder, fed with who knows what, an error.
func decode(f func(io.Reader) (image.Image, error)) func([]byte) (image.Image, error) {
	return func(raw []byte) (img image.Image, err error) {
		defer func() {
			if p := recover(); p != nil {
				err = fmt.Errorf("decode: %v", p)
			}
		}()
		return f(bytes.NewReader(raw))
	}
}

// prepare makes a picture fit: its size is looked at before it is decoded, a damaged one is an error,
// since a service would refuse it for ever after.
func prepare(raw []byte) (picture, error) {
	d, ok := decoderOf(raw)
	if !ok {
		return picture{}, errors.New("no PNG, JPEG, GIF or WebP image")
	}
	cfg, err := d.config(raw)
	if err != nil {
		return picture{}, fmt.Errorf("the %s is damaged: %w", d.media, err)
	}
	if cfg.Width < 1 || cfg.Height < 1 || cfg.Width > maxPixels/cfg.Height {
		return picture{}, fmt.Errorf("its %dx%d pixels are more than the %d million that are decoded", cfg.Width, cfg.Height, maxPixels/1_000_000)
	}
	img, err := d.decode(raw)
	if err != nil {
		return picture{}, fmt.Errorf("the %s is damaged: %w", d.media, err)
	}
	w, h := fitted(cfg.Width, cfg.Height, maxSide)
	size := dimensions{cfg.Width, cfg.Height, w, h}
	if w == cfg.Width && h == cfg.Height && len(raw) <= maxEncoded {
		return picture{raw, d.media, size}, nil
	}
	return encode(img, size)
}

// encode scales and writes a picture, as PNG if that stays small, else as JPEG, smaller and smaller
// until it fits.
func encode(img image.Image, size dimensions) (picture, error) {
	img = scale(img, size.DisplayWidth, size.DisplayHeight)
	var buf bytes.Buffer
	if size.DisplayWidth*size.DisplayHeight <= 1_000_000 || !opaque(img) {
		if err := png.Encode(&buf, img); err == nil && buf.Len() <= maxEncoded {
			return picture{buf.Bytes(), "image/png", size}, nil
		}
	}
	img = onWhite(img)
	for {
		for _, quality := range []int{85, 70, 50} {
			buf.Reset()
			if err := jpeg.Encode(&buf, img, &jpeg.Options{Quality: quality}); err != nil {
				return picture{}, err
			}
			if buf.Len() <= maxEncoded {
				return picture{buf.Bytes(), "image/jpeg", size}, nil
			}
		}
		by := min(0.75, 0.9*math.Sqrt(float64(maxEncoded)/float64(buf.Len())))
		size.DisplayWidth, size.DisplayHeight = max(1, int(float64(size.DisplayWidth)*by)), max(1, int(float64(size.DisplayHeight)*by))
		img = scale(img, size.DisplayWidth, size.DisplayHeight)
	}
}

// fitted is the size with neither side over limit.
func fitted(w, h, limit int) (int, int) {
	if w <= limit && h <= limit {
		return w, h
	}
	by := float64(limit) / float64(max(w, h))
	return max(1, int(math.Round(float64(w)*by))), max(1, int(math.Round(float64(h)*by)))
}

func scale(img image.Image, w, h int) image.Image {
	if b := img.Bounds(); b.Dx() == w && b.Dy() == h {
		return img
	}
	out := image.NewRGBA(image.Rect(0, 0, w, h))
	draw.BiLinear.Scale(out, out.Bounds(), img, img.Bounds(), draw.Src, nil)
	return out
}

func opaque(img image.Image) bool {
	o, ok := img.(interface{ Opaque() bool })
	return ok && o.Opaque()
}

// onWhite lays a picture with transparent parts on white, which JPEG has no place for.
func onWhite(img image.Image) image.Image {
	if opaque(img) {
		return img
	}
	out := image.NewRGBA(image.Rect(0, 0, img.Bounds().Dx(), img.Bounds().Dy()))
	draw.Draw(out, out.Bounds(), image.NewUniform(color.White), image.Point{}, draw.Src)
	draw.Draw(out, out.Bounds(), img, img.Bounds().Min, draw.Over)
	return out
}
