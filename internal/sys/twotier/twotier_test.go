package twotier_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/myelin-agent/myelin/internal/sys/twotier"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv("TWOTIER_TEST_DIR"); dir != "" {
		c := twotier.New(twotier.Config[string]{Dir: dir, L2: time.Hour})
		c.Put(twotier.SessionKey("killed", "t", []byte("1")), "v")
		c.Put(twotier.SessionKey("living", "t", []byte("1")), "v")
		c.Put(twotier.FreeKey("room", "n"), "v")
		fmt.Println("stored")
		select {} // until it is killed
	}
	goleak.VerifyTestMain(m)
}

// clock is a time that tests set.
type clock struct{ at atomic.Int64 }

func (c *clock) now() time.Time          { return time.Unix(1e9, c.at.Load()) }
func (c *clock) advance(d time.Duration) { c.at.Add(int64(d)) }

// world is a cache with a counting origin.
type world struct {
	*twotier.Cache[string]
	clock  clock
	loads  atomic.Int64
	mu     sync.Mutex
	report []string
}

func newWorld(dir string, l1, l2 time.Duration) *world {
	w := &world{}
	w.Cache = twotier.New(twotier.Config[string]{Dir: dir, L1: l1, L2: l2, Now: w.clock.now, Report: func(err error) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.report = append(w.report, err.Error())
	}})
	return w
}

func (w *world) get(t *testing.T, key twotier.Key) (string, twotier.Tier) {
	t.Helper()
	e, err := w.Fetch(context.Background(), key, func(context.Context) (string, error) {
		return fmt.Sprint("v", w.loads.Add(1)), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return e.Value, e.Tier
}

func (w *world) expect(t *testing.T, key twotier.Key, value string, tier twotier.Tier) {
	t.Helper()
	if v, from := w.get(t, key); v != value || from != tier {
		t.Errorf("got %s from %s, want %s from %s", v, from, value, tier)
	}
}

func TestOrderOfTiersAndTwoLifetimes(t *testing.T) {
	dir := t.TempDir()
	w := newWorld(dir, 5*time.Minute, time.Hour)
	key := twotier.FreeKey("room", "name")
	w.expect(t, key, "v1", twotier.Origin)
	w.expect(t, key, "v1", twotier.Memory)
	w.clock.advance(6 * time.Minute) // memory is over, disk is not
	w.expect(t, key, "v1", twotier.Disk)
	w.expect(t, key, "v1", twotier.Memory)
	w.clock.advance(time.Hour)
	w.expect(t, key, "v2", twotier.Origin)
	if n := w.loads.Load(); n != 2 {
		t.Errorf("%d origin calls, want 2", n)
	}
	// Another process begins with the disk.
	w2 := newWorld(dir, 5*time.Minute, time.Hour)
	w2.clock.advance(66 * time.Minute)
	w2.expect(t, key, "v2", twotier.Disk)
}

func TestFilesAreForTheOwnerAlone(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cache")
	w := newWorld(dir, 0, time.Hour)
	key := twotier.SessionKey("s", "t", []byte("secret input"))
	w.get(t, key)
	for path, want := range map[string]os.FileMode{dir: 0o700, filepath.Join(dir, key.String()): 0o600} {
		info, err := os.Stat(path)
		if err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v %v, want %o", path, info.Mode().Perm(), err, want)
		}
	}
	data, _ := os.ReadFile(filepath.Join(dir, key.String()))
	if strings.Contains(string(data), "secret") {
		t.Errorf("the input is in the file: %s", data)
	}
}

func TestAHundredWaitersOneCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := twotier.New(twotier.Config[int]{})
		var calls atomic.Int64
		load := func(ctx context.Context) (int, error) {
			calls.Add(1)
			select {
			case <-time.After(time.Minute):
				return 42, nil
			case <-ctx.Done():
				return 0, context.Cause(ctx)
			}
		}
		var wg sync.WaitGroup
		for i := range 100 {
			wg.Go(func() {
				ctx, cancel := context.WithTimeout(context.Background(), time.Duration(i+1)*time.Second)
				defer cancel()
				v, err := c.Get(ctx, twotier.FreeKey("r", "n"), load)
				if i+1 == 60 { // both happen at once: either may win
					return
				}
				if late := i+1 < 60; late != errors.Is(err, context.DeadlineExceeded) || (!late && v != 42) {
					t.Errorf("waiter %d: %d %v", i, v, err)
				}
			})
		}
		wg.Wait()
		if calls.Load() != 1 {
			t.Errorf("%d calls", calls.Load())
		}
	})
}

func TestTheCallEndsWhenNobodyWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := twotier.New(twotier.Config[int]{})
		ended := make(chan error, 1)
		ctx, cancel := context.WithCancel(context.Background())
		go func() {
			_, err := c.Get(ctx, twotier.FreeKey("r", "n"), func(ctx context.Context) (int, error) {
				<-ctx.Done()
				ended <- context.Cause(ctx)
				return 0, ctx.Err()
			})
			if !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		}()
		synctest.Wait()
		cancel()
		if err := <-ended; err == nil {
			t.Error("no cause")
		}
		// Who comes afterwards starts anew.
		v, err := c.Get(context.Background(), twotier.FreeKey("r", "n"), func(context.Context) (int, error) { return 7, nil })
		if v != 7 || err != nil {
			t.Errorf("%d %v", v, err)
		}
	})
}

func TestErrorsAndPanicsAreSharedAndNotKept(t *testing.T) {
	c := twotier.New(twotier.Config[int]{})
	key := twotier.FreeKey("r", "n")
	boom := errors.New("boom")
	if _, err := c.Get(context.Background(), key, func(context.Context) (int, error) { return 0, boom }); !errors.Is(err, boom) {
		t.Error(err)
	}
	if _, err := c.Get(context.Background(), key, func(context.Context) (int, error) { panic("bang") }); err == nil || !strings.Contains(err.Error(), "bang") {
		t.Error(err)
	}
	if v, err := c.Get(context.Background(), key, func(context.Context) (int, error) { return 1, nil }); v != 1 || err != nil {
		t.Error(v, err)
	}
}

func TestSessionsAndToolsNeverMeet(t *testing.T) {
	dir := t.TempDir()
	w := newWorld(dir, time.Minute, time.Hour)
	keys := map[string]twotier.Key{
		"a.t": twotier.SessionKey("a", "t", []byte("x")), "b.t": twotier.SessionKey("b", "t", []byte("x")),
		"a.u": twotier.SessionKey("a", "u", []byte("x")), "a.t2": twotier.SessionKey("a", "t", []byte("y")),
		"at.": twotier.SessionKey("at", "", []byte("x")), "free": twotier.FreeKey("t", "x"), "free2": twotier.FreeKey("tx", ""),
	}
	values := map[string]string{}
	for name, k := range keys {
		values[name], _ = w.get(t, k)
	}
	if w.loads.Load() != int64(len(keys)) {
		t.Fatalf("%d loads for %d keys: %v", w.loads.Load(), len(keys), values)
	}
	other := newWorld(dir, time.Minute, time.Hour)
	for name, k := range keys {
		other.expect(t, k, values[name], twotier.Disk)
	}
}

func TestInvalidation(t *testing.T) {
	keys := []twotier.Key{
		twotier.SessionKey("a", "t", []byte("1")), twotier.SessionKey("a", "t", []byte("2")),
		twotier.SessionKey("a", "u", []byte("1")), twotier.SessionKey("b", "t", []byte("1")), twotier.FreeKey("t", "1"),
	}
	for _, c := range []struct {
		name string
		do   func(*world)
		gone []bool
	}{
		{"key", func(w *world) { w.Invalidate(keys[0]) }, []bool{true, false, false, false, false}},
		{"tool", func(w *world) { w.InvalidatePrefix("a", "t") }, []bool{true, true, false, false, false}},
		{"session", func(w *world) { w.EndSession("a") }, []bool{true, true, true, false, false}},
		{"no session", func(w *world) { w.EndSession("") }, []bool{false, false, false, false, false}},
		{"room", func(w *world) { w.InvalidatePrefix("", "t") }, []bool{false, false, false, false, true}},
	} {
		w := newWorld(t.TempDir(), time.Minute, time.Hour)
		for _, k := range keys {
			w.get(t, k)
		}
		c.do(w)
		for i, k := range keys {
			if _, ok := w.Peek(k); ok == c.gone[i] {
				t.Errorf("%s: key %d is there: %t", c.name, i, ok)
			}
		}
	}
}

func TestWhatIsInvalidatedOnItsWayIsNotKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := twotier.New(twotier.Config[string]{})
		key := twotier.SessionKey("s", "t", nil)
		start, release := make(chan bool), make(chan bool)
		got := make(chan string, 1)
		go func() {
			v, err := c.Get(context.Background(), key, func(context.Context) (string, error) {
				close(start)
				<-release
				return "old", nil
			})
			if err != nil {
				t.Error(err)
			}
			got <- v
		}()
		<-start
		c.EndSession("s")
		v, err := c.Get(context.Background(), key, func(context.Context) (string, error) { return "new", nil })
		if v != "new" || err != nil {
			t.Error(v, err)
		}
		close(release)
		if v := <-got; v != "old" {
			t.Errorf("who waited got %q", v)
		}
		synctest.Wait()
		if e, _ := c.Peek(key); e.Value != "new" {
			t.Errorf("kept %q", e.Value)
		}
	})
}

func TestBrokenEntriesAreMisses(t *testing.T) {
	dir := t.TempDir()
	key := twotier.FreeKey("r", "n")
	path := filepath.Join(dir, key.String())
	newWorld(dir, time.Minute, time.Hour).get(t, key)
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	foreign := twotier.FreeKey("r", "other")
	newWorld(dir, time.Minute, time.Hour).get(t, foreign)
	other, err := os.ReadFile(filepath.Join(dir, foreign.String()))
	if err != nil {
		t.Fatal(err)
	}
	flipped := append([]byte(nil), good...)
	flipped[len(flipped)-2] ^= 1
	for name, data := range map[string][]byte{
		"empty": {}, "text": []byte("hello"), "cut": good[:len(good)-3], "flipped": flipped, "foreign": other,
		"version": []byte(strings.Replace(string(good), `"v":1`, `"v":2`, 1)),
	} {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		w := newWorld(dir, time.Nanosecond, time.Hour)
		w.expect(t, key, "v1", twotier.Origin)
		w.clock.advance(time.Second)
		w.expect(t, key, "v1", twotier.Disk) // it was replaced
		if len(w.report) != 1 || !strings.Contains(w.report[0], path) {
			t.Errorf("%s: reported %q", name, w.report)
		}
	}
}

func TestEntriesFromTheFutureAreMisses(t *testing.T) {
	w := newWorld(t.TempDir(), time.Hour, time.Hour)
	key := twotier.FreeKey("r", "n")
	w.clock.advance(time.Hour)
	w.get(t, key)
	w.clock.advance(-30 * time.Minute)
	if e, ok := w.Peek(key); ok {
		t.Errorf("peeked %+v", e)
	}
	w.expect(t, key, "v2", twotier.Origin)
}

func TestReadOnlyDiskIsMemoryAlone(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	w := newWorld(filepath.Join(file, "cache"), time.Minute, time.Hour) // cannot be made, also by root
	w.expect(t, twotier.FreeKey("r", "1"), "v1", twotier.Origin)
	w.expect(t, twotier.FreeKey("r", "2"), "v2", twotier.Origin)
	w.expect(t, twotier.FreeKey("r", "1"), "v1", twotier.Memory)
	var notices int
	for _, r := range w.report {
		if strings.Contains(r, "memory only") {
			notices++
		}
	}
	if notices != 1 {
		t.Errorf("notices: %q", w.report)
	}
}

func TestMemoryIsBounded(t *testing.T) {
	c := twotier.New(twotier.Config[string]{Entries: 3, Bytes: 10, Size: func(s string) int { return len(s) }})
	key := func(i int) twotier.Key { return twotier.FreeKey("r", fmt.Sprint(i)) }
	for i := range 4 {
		c.Put(key(i), "xx")
	}
	if _, ok := c.Peek(key(0)); ok {
		t.Error("four entries in a cache for three")
	}
	c.Peek(key(1)) // used: 2 is the oldest now
	c.Put(key(9), "12345678")
	for i, want := range map[int]bool{1: true, 2: false, 3: false, 9: true} {
		if _, ok := c.Peek(key(i)); ok != want {
			t.Errorf("key %d is there: %t", i, ok)
		}
	}
	c.Put(key(10), "longer than all of it")
	if _, ok := c.Peek(key(10)); ok {
		t.Error("a value bigger than the cache was kept")
	}
	if _, ok := c.Peek(key(9)); !ok {
		t.Error("it pushed others out")
	}
}

func TestPeekShowsWhatIsOver(t *testing.T) {
	w := newWorld(t.TempDir(), time.Minute, time.Hour)
	key := twotier.FreeKey("r", "n")
	if _, ok := w.Peek(key); ok {
		t.Error("peeked into nothing")
	}
	w.Put(key, "x")
	w.clock.advance(3 * time.Hour)
	e, ok := w.Peek(key)
	if !ok || e.Value != "x" || !e.Expires.Before(w.clock.now()) {
		t.Errorf("%+v %t", e, ok)
	}
}

func TestCollectFindsWhatAKilledProcessLeft(t *testing.T) {
	dir := t.TempDir()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "TWOTIER_TEST_DIR="+dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 10)); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // killed
	if err := os.WriteFile(filepath.Join(dir, "somebody's"), []byte("not ours"), 0o600); err != nil {
		t.Fatal(err)
	}
	n, err := twotier.Collect(dir, func(s string) bool { return s == "living" })
	if n != 1 || err != nil {
		t.Errorf("collected %d, %v", n, err)
	}
	c := twotier.New(twotier.Config[string]{Dir: dir, L2: time.Hour})
	for key, want := range map[twotier.Key]bool{
		twotier.SessionKey("killed", "t", []byte("1")): false,
		twotier.SessionKey("living", "t", []byte("1")): true,
		twotier.FreeKey("room", "n"):                   true,
	} {
		if _, ok := c.Peek(key); ok != want {
			t.Errorf("%s/%s is there: %t", key.Session, key.Tool, ok)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "somebody's")); err != nil {
		t.Error("a foreign file went")
	}
	if n, err := twotier.Collect(filepath.Join(dir, "nowhere"), nil); n != 0 || err != nil {
		t.Errorf("missing folder: %d %v", n, err)
	}
}

// Whatever is put, got, forgotten and waited: a value handed out is the one put last, within its
// life.
func TestAgainstAModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dir, err := os.MkdirTemp("", "twotier")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir)
		w := newWorld(dir, time.Minute, 10*time.Minute)
		type state struct {
			value string
			mem   time.Time // end of life in memory
			disk  time.Time
		}
		model := map[twotier.Key]state{}
		key := rapid.Custom(func(t *rapid.T) twotier.Key {
			return twotier.SessionKey(rapid.SampledFrom([]string{"a", "b"}).Draw(t, "s"), rapid.SampledFrom([]string{"t", "u"}).Draw(t, "t"), []byte{byte(rapid.IntRange(0, 2).Draw(t, "i"))})
		})
		t.Repeat(map[string]func(*rapid.T){
			"get": func(t *rapid.T) {
				k, now := key.Draw(t, "key"), w.clock.now()
				before := w.loads.Load()
				e, err := w.Fetch(context.Background(), k, func(context.Context) (string, error) { return fmt.Sprint("v", w.loads.Add(1)), nil })
				if err != nil {
					t.Fatal(err)
				}
				m, known := model[k]
				switch {
				case known && now.Before(m.mem):
				case known && now.Before(m.disk):
					m.mem = now.Add(time.Minute)
				default:
					m = state{fmt.Sprint("v", before+1), now.Add(time.Minute), now.Add(10 * time.Minute)}
				}
				model[k] = m
				if e.Value != m.value {
					t.Fatalf("got %s, want %s", e.Value, m.value)
				}
			},
			"forget": func(t *rapid.T) { k := key.Draw(t, "key"); w.Invalidate(k); delete(model, k) },
			"end": func(t *rapid.T) {
				w.EndSession("a")
				for k := range model {
					if k.Session == "a" {
						delete(model, k)
					}
				}
			},
			"wait": func(t *rapid.T) { w.clock.advance(time.Duration(rapid.IntRange(1, 400).Draw(t, "s")) * time.Second) },
		})
		if len(w.report) > 0 {
			t.Fatalf("reported %q", w.report)
		}
	})
}

func BenchmarkL1Get(b *testing.B) {
	c := twotier.New(twotier.Config[string]{L1: time.Hour})
	key := twotier.SessionKey("session", "tool", []byte("input"))
	c.Put(key, "v")
	ctx := context.Background()
	for b.Loop() {
		if _, err := c.Get(ctx, key, nil); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkL2Get(b *testing.B) {
	dir := b.TempDir()
	now := time.Now()
	cfg := twotier.Config[string]{Dir: dir, L1: time.Nanosecond, L2: time.Hour, Now: func() time.Time { now = now.Add(time.Microsecond); return now }}
	c := twotier.New(cfg)
	key := twotier.SessionKey("session", "tool", []byte("input"))
	c.Put(key, strings.Repeat("x", 16<<10))
	for b.Loop() {
		e, err := c.Fetch(context.Background(), key, nil)
		if err != nil || e.Tier != twotier.Disk {
			b.Fatal(e.Tier, err)
		}
	}
}
