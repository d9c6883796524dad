package headless

import (
	"bytes"
	"strings"
	"testing"

	"github.com/myelin-agent/myelin/internal/core/proto"
	"github.com/myelin-agent/myelin/internal/testkit/hostile"
)

// Whatever text of whatever event is hostile, the error stream stays readable, and no text can
// begin a line of its own.
func TestKF161_NothingActsOnTheErrorStream(t *testing.T) {
	bodies := append(proto.EventBodies(),
		proto.Denied{Tool: "Read", Message: "no", Rule: "Read(a)"},
		proto.Notice{Level: "warning", Text: "a"}, proto.Notice{Level: "error", Text: "b"},
		proto.Result{IsError: true, Errors: []string{"x"}}, proto.Result{IsError: true, Text: "x"},
		proto.Result{IsError: true, Ended: proto.Ended{Reason: proto.EndAPI, API: &proto.APIError{Kind: "k", Message: "m"}}},
		proto.Result{Ended: proto.Ended{Reason: proto.EndHook, Detail: "d"}},
	)
	said := 0
	for _, b := range bodies {
		for _, v := range hostile.Variants(b) {
			var out, complaints bytes.Buffer
			w := newWriter(Options{Format: Text, Out: &out, Err: &complaints}.withDefaults())
			if err := w.event(proto.E(v.(proto.EventBody))); err != nil {
				t.Fatal(err)
			}
			if r, ok := v.(proto.Result); ok {
				if err := w.close(r); err != nil {
					t.Fatal(err)
				}
			}
			text := complaints.String()
			if bad := hostile.Acts(text); bad != "" || strings.Count(text, "\n") > 1 {
				t.Fatalf("%T: the error stream says %+q with %s", v, text, bad)
			}
			said += strings.Count(text, "\n")
		}
	}
	if said < 10 {
		t.Errorf("only %d lines were said: the test sees nothing", said)
	}
}
