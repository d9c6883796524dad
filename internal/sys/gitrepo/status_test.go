package gitrepo

import "testing"

func FuzzParseStatus(f *testing.F) {
	f.Add([]byte("# branch.oid abc\x00# branch.ab +1 -2\x001 M. N... 100644 100644 100644 a b f\x002 R. N... 1 1 1 a b R100 new\x00old\x00? x\x00"))
	f.Add([]byte("u UU N... 1 1 1 1 a b c f\x00"))
	f.Add([]byte("2 R."))
	f.Fuzz(func(t *testing.T, out []byte) {
		s := parseStatus(out, 3)
		if len(s.Changes) > 3 {
			t.Fatalf("%d changes, at most 3 were wanted", len(s.Changes))
		}
		for _, c := range s.Changes {
			if len(c.Code) == 0 {
				t.Fatalf("change without a code: %+v", c)
			}
		}
	})
}
