package tool_test

import (
	"crypto/sha256"
	"testing"
	"time"

	"github.com/myelin-agent/myelin/internal/core/tool"
)

func TestStanding(t *testing.T) {
	was, is := sha256.Sum256([]byte("was")), sha256.Sum256([]byte("is"))
	cases := []struct {
		name string
		rec  *tool.ReadRecord
		want tool.Standing
	}{
		{"never read", nil, tool.Unread},
		{"read", &tool.ReadRecord{Hash: is}, tool.Fresh},
		{"changed since", &tool.ReadRecord{Hash: was}, tool.Stale},
		{"shown in part", &tool.ReadRecord{Hash: is, Partial: true}, tool.PartlyRead},
		{"shown in part and changed", &tool.ReadRecord{Hash: was, Partial: true}, tool.Stale},
		{"too large to know", &tool.ReadRecord{Partial: true}, tool.PartlyRead},
	}
	for _, c := range cases {
		var reads tool.Reads
		if c.rec != nil {
			c.rec.Path = "/f"
			reads.Put(*c.rec)
		}
		if got, _ := reads.Standing("/f", is); got != c.want {
			t.Errorf("%s: got %d, want %d", c.name, got, c.want)
		}
	}
}

func TestWrote(t *testing.T) {
	var reads tool.Reads
	content := []byte("is")
	reads.Wrote("/f", content, time.Unix(1, 0))
	standing, rec := reads.Standing("/f", sha256.Sum256(content))
	if standing != tool.Fresh || !rec.Written || string(rec.Content) != "is" || rec.Size != 2 {
		t.Errorf("got %d, %+v", standing, rec)
	}
	reads.Wrote("/big", make([]byte, tool.MaxKeptContent+1), time.Unix(1, 0))
	if rec, ok := reads.Get("/big"); !ok || rec.Content != nil || rec.Size != tool.MaxKeptContent+1 {
		t.Errorf("a large file is kept with %d bytes", len(rec.Content))
	}
}
