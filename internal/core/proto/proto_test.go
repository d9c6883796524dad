package proto_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/myelin-agent/myelin/internal/core/msg"
	"github.com/myelin-agent/myelin/internal/core/proto"
)

var update = flag.Bool("update", false, "write the golden files and the schema anew")

// fill gives every field under v a value of its own that is not zero.
func fill(v reflect.Value, name string) {
	switch x := v.Addr().Interface().(type) {
	case *json.RawMessage:
		*x = json.RawMessage(fmt.Sprintf(`{"of":%q}`, name))
		return
	case *[]msg.Block:
		*x = []msg.Block{msg.Text{Text: name + " <&>"}}
		return
	case *time.Time:
		*x = time.Date(2026, 11, 30, 12, 0, len(name), 0, time.UTC)
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(name)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(len(name)))
	case reflect.Uint64:
		v.SetUint(uint64(len(name)))
	case reflect.Float64:
		v.SetFloat(float64(len(name)) + 0.5)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), name)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), name)
	case reflect.Map:
		e := reflect.New(v.Type().Elem()).Elem()
		fill(e, name)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(reflect.ValueOf("key"), e)
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() {
				fill(v.Field(i), strings.ToLower(f.Name))
			}
		}
	default:
		panic("no sample for " + v.Type().String())
	}
}

func filled[B any](body B) B {
	p := reflect.New(reflect.TypeOf(body))
	fill(p.Elem(), "x")
	return p.Elem().Interface().(B)
}

func sampleEvents() []proto.Event {
	var out []proto.Event
	for _, b := range proto.EventBodies() {
		e := proto.E(filled(b))
		e.Seq, e.Session, e.Agent, e.Parent, e.Time = 7, "s-1", "a-1", "toolu_1", time.Date(2026, 11, 30, 12, 0, 0, 5e6, time.UTC)
		out = append(out, e)
	}
	return out
}

func sampleOps() []proto.Op {
	var out []proto.Op
	for _, b := range proto.OpBodies() {
		o := proto.O(filled(b))
		o.From = "tui-1"
		out = append(out, o)
	}
	return out
}

// golden compares what v is written as with a file, and reads the file back into back.
func golden(t *testing.T, kind, name string, v, back any) {
	t.Helper()
	got, err := v.(json.Marshaler).MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join("testdata", kind, name+".json")
	if *update {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, append(got, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(strings.TrimSpace(string(want)), string(got)); d != "" {
		t.Errorf("%s (-want +got)\n%s", file, d)
	}
	if err := json.Unmarshal(want, back); err != nil {
		t.Fatal(err)
	}
}

// TestGoldenEvents pins every event: what older releases wrote must stay readable.
func TestGoldenEvents(t *testing.T) {
	for _, e := range sampleEvents() {
		t.Run(e.Type, func(t *testing.T) {
			var back proto.Event
			golden(t, "events", e.Type, e, &back)
			if d := cmp.Diff(e, back); d != "" {
				t.Errorf("read back (-want +got)\n%s", d)
			}
		})
	}
	noOthers(t, "events", len(proto.EventBodies()))
}

// TestGoldenOps pins every operation.
func TestGoldenOps(t *testing.T) {
	for _, o := range sampleOps() {
		t.Run(o.Type, func(t *testing.T) {
			var back proto.Op
			golden(t, "ops", o.Type, o, &back)
			if d := cmp.Diff(o, back); d != "" {
				t.Errorf("read back (-want +got)\n%s", d)
			}
		})
	}
	noOthers(t, "ops", len(proto.OpBodies()))
}

func noOthers(t *testing.T, kind string, want int) {
	t.Helper()
	files, err := os.ReadDir(filepath.Join("testdata", kind))
	if err != nil || len(files) != want {
		t.Errorf("%d golden %s, %v; there are %d kinds: a kind was taken away or is not pinned", len(files), kind, err, want)
	}
}

// TestZeroBodies: a body with nothing in it can be written and read as well.
func TestZeroBodies(t *testing.T) {
	for _, b := range proto.EventBodies() {
		raw, err := json.Marshal(proto.E(b))
		if err != nil {
			t.Fatalf("%T: %v", b, err)
		}
		var back proto.Event
		if err := json.Unmarshal(raw, &back); err != nil {
			t.Fatalf("%T: %v\n%s", b, err, raw)
		}
		if reflect.TypeOf(back.Body) != reflect.TypeOf(b) || back.Extra != nil {
			t.Errorf("%T came back as %T with %v", b, back.Body, back.Extra)
		}
	}
	for _, v := range []any{proto.Event{}, proto.Event{Type: "later"}, proto.Op{}} {
		raw, err := json.Marshal(v)
		if err != nil || !json.Valid(raw) {
			t.Errorf("%+v: %s, %v", v, raw, err)
		}
	}
}

// TestHeadIsFilledIn: an event made without E still says what it is.
func TestHeadIsFilledIn(t *testing.T) {
	raw, err := json.Marshal(proto.Event{Body: proto.Notice{Level: "info", Text: "x"}})
	if want := `{"v":1,"type":"notice","level":"info","text":"x"}`; err != nil || string(raw) != want {
		t.Errorf("%s, %v; want %s", raw, err, want)
	}
	raw, err = json.Marshal(proto.Op{Body: proto.SetMode{Mode: "plan"}})
	if want := `{"v":1,"type":"set_mode","mode":"plan"}`; err != nil || string(raw) != want {
		t.Errorf("%s, %v; want %s", raw, err, want)
	}
}

// TestNoFieldTwice: head and body share one object, so no name may be used by both.
func TestNoFieldTwice(t *testing.T) {
	check := func(v any) {
		raw, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		seen := map[string]bool{}
		dec := json.NewDecoder(bytes.NewReader(raw))
		if _, err := dec.Token(); err != nil {
			t.Fatal(err)
		}
		for dec.More() {
			key, err := dec.Token()
			if err != nil {
				t.Fatal(err)
			}
			if name := strings.ToLower(key.(string)); seen[name] {
				t.Errorf("%s has %q twice", raw, name)
			} else {
				seen[name] = true
			}
			var skip json.RawMessage
			if err := dec.Decode(&skip); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, e := range sampleEvents() {
		check(e)
	}
	for _, o := range sampleOps() {
		check(o)
	}
}

// genJSON draws any JSON value.
func genJSON(depth int) *rapid.Generator[any] {
	return rapid.Custom(func(t *rapid.T) any {
		kinds := 4
		if depth > 0 {
			kinds = 6
		}
		switch rapid.IntRange(0, kinds-1).Draw(t, "kind") {
		case 0:
			return nil
		case 1:
			return rapid.Bool().Draw(t, "bool")
		case 2:
			return json.Number(fmt.Sprint(rapid.Int64().Draw(t, "number")))
		case 3:
			return strings.ToValidUTF8(rapid.String().Draw(t, "string"), "?")
		case 4:
			return rapid.SliceOfN(genJSON(depth-1), 0, 3).Draw(t, "list")
		}
		return rapid.MapOfN(rapid.StringMatching(`[a-z<&é]{1,5}`), genJSON(depth-1), 0, 3).Draw(t, "object")
	})
}

// TestUnknownFieldsSurvive: an older reader that hands on what a newer writer wrote loses nothing.
func TestUnknownFieldsSurvive(t *testing.T) {
	events, ops := sampleEvents(), sampleOps()
	rapid.Check(t, func(t *rapid.T) {
		var v, back any = &events[rapid.IntRange(0, len(events)-1).Draw(t, "event")], &proto.Event{}
		if rapid.Bool().Draw(t, "op") {
			v, back = &ops[rapid.IntRange(0, len(ops)-1).Draw(t, "which")], &proto.Op{}
		}
		raw, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		fields := decode(t, raw)
		for k, x := range rapid.MapOfN(rapid.StringMatching(`x_[a-zA-Z<é]{1,6}`), genJSON(2), 1, 4).Draw(t, "unknown") {
			fields[k] = x
		}
		if _, event := back.(*proto.Event); event && rapid.Bool().Draw(t, "unknown type") {
			fields["type"] = "of_tomorrow"
		}
		in, err := json.Marshal(fields)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(in, back); err != nil {
			t.Fatal(err)
		}
		out, err := json.Marshal(back)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(fields, decode(t, out)); d != "" {
			t.Fatalf("(-in +out)\n%s", d)
		}
	})
}

func decode(t interface{ Fatal(...any) }, raw []byte) map[string]any {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	out := map[string]any{}
	if err := dec.Decode(&out); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestWhatCannotBeRead(t *testing.T) {
	for name, tc := range map[string]struct {
		in   string
		into any
		want string
	}{
		"newer event":      {`{"v":2,"type":"notice"}`, &proto.Event{}, "version 2"},
		"newer operation":  {`{"v":9,"type":"prompt"}`, &proto.Op{}, "version 9"},
		"unknown op":       {`{"v":1,"type":"fly"}`, &proto.Op{}, `unknown operation "fly"`},
		"no type":          {`{"v":1}`, &proto.Op{}, `unknown operation ""`},
		"wrong field":      {`{"v":1,"type":"notice","text":7}`, &proto.Event{}, "read notice event"},
		"wrong op field":   {`{"v":1,"type":"set_mode","mode":7}`, &proto.Op{}, "read set_mode operation"},
		"broken block":     {`{"v":1,"type":"prompt","content":[{}]}`, &proto.Op{}, `"type" is missing`},
		"list, not object": {`[]`, &proto.Event{}, "cannot unmarshal"},
	} {
		if err := json.Unmarshal([]byte(tc.in), tc.into); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", name, err, tc.want)
		}
	}
}

// TestReadIntoAUsedVariable: nothing of the event before is left.
func TestReadIntoAUsedVariable(t *testing.T) {
	var e proto.Event
	for _, in := range []string{`{"v":1,"type":"notice","agent":"a","parent":"p","seq":3,"level":"info","text":"x","new":1}`, `{"v":1,"type":"activity","state":"idle"}`} {
		if err := json.Unmarshal([]byte(in), &e); err != nil {
			t.Fatal(err)
		}
	}
	if d := cmp.Diff(proto.E(proto.Activity{State: "idle"}), e); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}

func TestRule(t *testing.T) {
	if got := (proto.RuleValue{ToolName: "Bash", RuleContent: "git *"}).String(); got != "Bash(git *)" {
		t.Error(got)
	}
	if got := (proto.RuleValue{ToolName: "Read"}).String(); got != "Read" {
		t.Error(got)
	}
}

// FuzzEvent: what can be read can be written, and is the same when read again.
func FuzzEvent(f *testing.F) {
	for _, e := range sampleEvents() {
		raw, err := json.Marshal(e)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
	}
	for _, o := range sampleOps() {
		raw, err := json.Marshal(o)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		for _, v := range []any{&proto.Event{}, &proto.Op{}} {
			if json.Unmarshal(in, v) != nil {
				continue
			}
			first, err := json.Marshal(v)
			if err != nil {
				t.Fatalf("read but cannot be written: %v", err)
			}
			again := reflect.New(reflect.TypeOf(v).Elem()).Interface()
			if err := json.Unmarshal(first, again); err != nil {
				t.Fatalf("written but cannot be read: %v\n%s", err, first)
			}
			if second, err := json.Marshal(again); err != nil || !bytes.Equal(first, second) {
				t.Fatalf("%v: first\n%s\nthen\n%s", err, first, second)
			}
		}
	})
}
