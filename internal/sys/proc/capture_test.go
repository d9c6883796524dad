package proc_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/myelin-agent/myelin/internal/sys/proc"
)

// TestCaptureAgainstAll compares a capture with all of the output, for any sizes.
func TestCaptureAgainstAll(t *testing.T) {
	dir := t.TempDir()
	n := 0
	rapid.Check(t, func(t *rapid.T) {
		n++
		cfg := proc.CaptureConfig{
			Keep: rapid.IntRange(1, 40).Draw(t, "keep"),
			Head: rapid.Int64Range(1, 60).Draw(t, "head"),
			Tail: rapid.IntRange(1, 30).Draw(t, "tail"),
			Path: filepath.Join(dir, fmt.Sprint(n)),
		}
		quota := rapid.Int64Range(0, 80).Draw(t, "quota")
		cfg.Quota = proc.NewQuota(quota)
		c := proc.NewCapture(cfg)
		var all []byte
		for range rapid.IntRange(0, 12).Draw(t, "pieces") {
			piece := rapid.SliceOfN(rapid.Byte(), 0, 25).Draw(t, "piece")
			all = append(all, piece...)
			if k, err := c.Write(piece); k != len(piece) || err != nil {
				t.Fatal(k, err)
			}
		}
		checkEnds(t, c, all, cfg)
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
		checkFile(t, c, all, cfg, quota)
	})
}

func checkEnds(t *rapid.T, c *proc.Capture, all []byte, cfg proc.CaptureConfig) {
	head, tail := rapid.IntRange(0, 50).Draw(t, "wantHead"), rapid.IntRange(0, 50).Draw(t, "wantTail")
	front, end, between := c.Ends(head, tail)
	if !bytes.HasPrefix(all, front) || !bytes.HasSuffix(all, end) || int64(len(front)+len(end))+between != int64(len(all)) || between < 0 {
		t.Fatalf("ends %q %q %d of %q", front, end, between, all)
	}
	if head <= cfg.Keep && len(front) != min(head, len(all)) {
		t.Fatalf("front %q of %q, wanted %d", front, all, head)
	}
	if tail <= cfg.Tail && len(end) != min(tail, len(all)-len(front)) {
		t.Fatalf("end %q of %q, wanted %d", end, all, tail)
	}
	if c.Total() != int64(len(all)) {
		t.Fatalf("total %d of %d", c.Total(), len(all))
	}
}

func checkFile(t *rapid.T, c *proc.Capture, all []byte, cfg proc.CaptureConfig, quota int64) {
	if len(all) <= cfg.Keep {
		if c.Path() != "" {
			t.Fatal("a file was made for short output")
		}
		return
	}
	got, err := os.ReadFile(c.Path())
	if err != nil {
		t.Fatal(err)
	}
	front := min(cfg.Head, quota, int64(len(all)))
	if !bytes.HasPrefix(got, all[:front]) {
		t.Fatalf("file %q does not begin with %d bytes of %q", got, front, all)
	}
	last := min(int64(cfg.Tail), int64(len(all)-cfg.Keep))
	if gap := int64(len(all)) - front - last; gap > 0 {
		want := fmt.Sprintf("%s\n\n[%d bytes left out here]\n\n%s", all[:front], gap, all[len(all)-int(last):])
		if string(got) != want {
			t.Fatalf("file %q, want %q", got, want)
		}
	} else if !bytes.Equal(got, all) {
		t.Fatalf("file %q, want %q", got, all)
	}
}

func TestCaptureFileShowsTheEndWhileItGrows(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(dir, "out")
		c := proc.NewCapture(proc.CaptureConfig{Keep: 4, Head: 8, Tail: 6, Path: path})
		c.Write([]byte("0123456789abcdefghij"))
		time.Sleep(2 * time.Second) // the clock of the bubble
		got, err := os.ReadFile(path)
		if want := "01234567\n\n[6 bytes left out here]\n\nefghij"; err != nil || string(got) != want {
			t.Errorf("file %q, %v; want %q", got, err, want)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
}

func TestCaptureLimitAndSpill(t *testing.T) {
	c := proc.NewCapture(proc.CaptureConfig{Limit: 10, Path: filepath.Join(t.TempDir(), "a", "out")})
	c.Write(make([]byte, 10))
	select {
	case <-c.Over():
		t.Fatal("over at the limit")
	default:
	}
	if err := c.Spill(); err != nil || c.Path() == "" {
		t.Fatal(err)
	}
	c.Write([]byte("x"))
	<-c.Over()
	c.Write([]byte("y"))
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(c.Path()); err != nil || len(got) != 12 {
		t.Errorf("file has %d bytes, %v", len(got), err)
	}
}

func TestCaptureWithoutPlaceForItsFile(t *testing.T) {
	c := proc.NewCapture(proc.CaptureConfig{Keep: 2, Tail: 2, Path: "/dev/null/x"})
	c.Write([]byte("abcdef"))
	front, end, between := c.Ends(2, 2)
	if string(front) != "ab" || string(end) != "ef" || between != 2 || c.Err() == nil || c.Path() != "" {
		t.Errorf("%q %q %d %v", front, end, between, c.Err())
	}
}
