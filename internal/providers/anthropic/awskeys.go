package anthropic

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// AWSCredentials returns a function that finds the keys to sign with, in the order of Amazon's own
// tools: environment, shared credentials file, credential_process of the profile, and last what
// `aws configure export-credentials` says (single sign-on, roles). Found keys are kept until five
// minutes before they expire. env reads the environment, run runs a program and returns what it
// printed; an error of it wraps [exec.ErrNotFound] when there is no such program.
func AWSCredentials(env func(string) string, run func(ctx context.Context, name string, args ...string) ([]byte, error)) func(context.Context) (AWSKeys, error) {
	s := &awsSource{env: env, now: time.Now, run: run}
	return s.get
}

type awsSource struct {
	env func(string) string
	now func() time.Time
	run func(ctx context.Context, name string, args ...string) ([]byte, error)

	mu   sync.Mutex // guards kept
	kept AWSKeys
}

// renewBefore is how long before their end keys are renewed.
const renewBefore = 5 * time.Minute

func (s *awsSource) get(ctx context.Context) (AWSKeys, error) {
	if id, secret := s.env("AWS_ACCESS_KEY_ID"), s.env("AWS_SECRET_ACCESS_KEY"); id != "" && secret != "" {
		return AWSKeys{AccessKeyID: id, SecretAccessKey: secret, SessionToken: s.env("AWS_SESSION_TOKEN")}, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.kept.AccessKeyID != "" && !s.kept.Expires.IsZero() && s.now().Before(s.kept.Expires.Add(-renewBefore)) {
		return s.kept, nil
	}
	keys, err := s.find(ctx)
	if err == nil {
		s.kept = keys
	}
	return keys, err
}

func (s *awsSource) profile() string {
	for _, name := range []string{"AWS_PROFILE", "AWS_DEFAULT_PROFILE"} {
		if p := s.env(name); p != "" {
			return p
		}
	}
	return "default"
}

func (s *awsSource) file(variable, name string) string {
	if path := s.env(variable); path != "" {
		return path
	}
	return filepath.Join(s.env("HOME"), ".aws", name)
}

func (s *awsSource) find(ctx context.Context) (AWSKeys, error) {
	profile := s.profile()
	shared, err := readSection(s.file("AWS_SHARED_CREDENTIALS_FILE", "credentials"), profile)
	if err != nil {
		return AWSKeys{}, err
	}
	if shared["aws_access_key_id"] != "" && shared["aws_secret_access_key"] != "" {
		return AWSKeys{AccessKeyID: shared["aws_access_key_id"], SecretAccessKey: shared["aws_secret_access_key"], SessionToken: shared["aws_session_token"]}, nil
	}
	section := "profile " + profile
	if profile == "default" {
		section = profile
	}
	config, err := readSection(s.file("AWS_CONFIG_FILE", "config"), section)
	if err != nil {
		return AWSKeys{}, err
	}
	for _, from := range []map[string]string{shared, config} {
		if command := from["credential_process"]; command != "" {
			out, err := s.run(ctx, "sh", "-c", command)
			if err != nil {
				return AWSKeys{}, fmt.Errorf("run credential_process of AWS profile %s: %w", profile, err)
			}
			return parseKeys(out)
		}
	}
	out, err := s.run(ctx, "aws", "configure", "export-credentials", "--profile", profile, "--format", "process")
	if errors.Is(err, exec.ErrNotFound) {
		return AWSKeys{}, fmt.Errorf("no AWS credentials: AWS_ACCESS_KEY_ID is not set, profile %s has no keys, and there is no aws program to ask", profile)
	}
	if err != nil {
		return AWSKeys{}, fmt.Errorf("ask aws for the credentials of profile %s: %w", profile, err)
	}
	return parseKeys(out)
}

// parseKeys reads the output of a credential process, version 1.
func parseKeys(out []byte) (AWSKeys, error) {
	var in struct {
		AccessKeyID     string    `json:"AccessKeyId"`
		SecretAccessKey string    `json:"SecretAccessKey"`
		SessionToken    string    `json:"SessionToken"`
		Expiration      time.Time `json:"Expiration"`
	}
	if err := json.Unmarshal(out, &in); err != nil {
		// The text is not shown: it may hold a key.
		return AWSKeys{}, errors.New("the credential process did not print the expected JSON")
	}
	if in.AccessKeyID == "" || in.SecretAccessKey == "" {
		return AWSKeys{}, errors.New("the credential process printed no AccessKeyId and SecretAccessKey")
	}
	return AWSKeys{in.AccessKeyID, in.SecretAccessKey, in.SessionToken, in.Expiration}, nil
}

// readSection reads the settings of one section of an INI file. A file that does not exist has
// none.
func readSection(path, section string) (map[string]string, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read AWS settings: %w", err)
	}
	defer f.Close()
	out := map[string]string{}
	inside := false
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		if strings.HasPrefix(line, "[") && strings.HasSuffix(line, "]") {
			inside = strings.Join(strings.Fields(line[1:len(line)-1]), " ") == section
			continue
		}
		key, value, ok := strings.Cut(line, "=")
		if inside && ok && line[0] != '#' && line[0] != ';' {
			out[strings.TrimSpace(key)] = strings.TrimSpace(value)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read AWS settings %s: %w", path, err)
	}
	return out, nil
}
