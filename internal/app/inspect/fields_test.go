package inspect

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

func TestSecretsAreHidden(t *testing.T) {
	raw := `{"process":{"config":{"effective":{"root":{"members":[{"key":"env","value":{"members":[{"key":"API","value":{"scalar":"hunter2"}}]}},
		{"key":"apiKeyHelper","value":{"scalar":"get-hunter2"}},{"key":"model","value":{"scalar":"opus"}}]}}}},"x":{"password":"hunter2","tokens":5}}`
	got, err := maskSecrets(json.RawMessage(raw))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"key":"API"`, `"opus"`, `"tokens":5`} {
		if !strings.Contains(string(got), want) {
			t.Errorf("%s is gone from %s", want, got)
		}
	}
	if strings.Contains(string(got), "hunter2") {
		t.Errorf("a secret is shown: %s", got)
	}
}

type (
	processState struct{ Config *configState }
	configState  struct {
		Revision int `json:"revision"`
	}
	rootState struct {
		Process *processState `json:"process"`
		Session *oneSession   `json:"session"`
	}
	oneSession struct {
		ID   string   `json:"id"`
		Name string   `json:"name,omitempty"`
		Tags []string `json:"-"`
	}
)

func shape() Shape {
	return Shape{
		Process: reflect.TypeFor[processState](), Session: reflect.TypeFor[rootState](),
		Writers: map[string]string{"session": "whoever", "session.name": "its user"},
	}
}

func TestFieldsAreMadeFromTheTypes(t *testing.T) {
	want := []Field{
		{"Config.revision", "int", "process", ""}, {"session.id", "string", "session", "whoever"}, {"session.name", "string", "session", "its user"},
	}
	if got := shape().Fields(); !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestPick(t *testing.T) {
	snapshot := json.RawMessage(`{"session":{"id":"x"},"process":{"Config":{"revision":3}}}`)
	got, err := shape().Pick(snapshot, []string{"session.id", "Config.revision", "session.name"})
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{"session.id": `"x"`, "Config.revision": "3", "session.name": "null"} {
		if string(got[path]) != want {
			t.Errorf("%s is %s, want %s", path, got[path], want)
		}
	}
	if _, err := shape().Pick(snapshot, []string{"session.nothing"}); err == nil {
		t.Error("a field that is not there was picked")
	}
}
