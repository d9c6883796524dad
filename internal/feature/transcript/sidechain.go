package transcript

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/myelin-agent/myelin/internal/sys/atomicfile"
)

// AgentMeta stands beside a sidechain and says whose it is.
type AgentMeta struct {
	AgentType     string `json:"agentType"`
	ToolUseID     string `json:"toolUseId"`
	ParentAgentID string `json:"parentAgentId,omitempty"`
}

// WriteAgentMeta keeps what is known of the agent whose sidechain is at path.
func WriteAgentMeta(path string, meta AgentMeta) error {
	raw, err := json.Marshal(meta)
	if err != nil {
		return fmt.Errorf("write agent's metadata: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("write agent's metadata: %w", err)
	}
	return atomicfile.Write(metaPath(path), append(raw, '\n'), 0o600)
}

// ReadAgentMeta reads what [WriteAgentMeta] wrote.
func ReadAgentMeta(path string) (AgentMeta, error) {
	var meta AgentMeta
	raw, err := os.ReadFile(metaPath(path))
	if err != nil {
		return meta, fmt.Errorf("read agent's metadata: %w", err)
	}
	if err := json.Unmarshal(raw, &meta); err != nil {
		return meta, fmt.Errorf("read agent's metadata %s: %w", metaPath(path), err)
	}
	return meta, nil
}

func metaPath(path string) string { return strings.TrimSuffix(path, ".jsonl") + ".meta.json" }

// Sidechains returns the transcripts of the subagents of the session whose transcript is at path,
// by agent id.
func Sidechains(path string) (map[string]string, error) {
	dir := filepath.Join(SessionDir(path), "subagents")
	entries, err := os.ReadDir(dir)
	if err != nil && !os.IsNotExist(err) {
		return nil, fmt.Errorf("list sidechains: %w", err)
	}
	out := map[string]string{}
	for _, e := range entries {
		if id, ok := strings.CutPrefix(e.Name(), "agent-"); ok && strings.HasSuffix(id, ".jsonl") {
			out[strings.TrimSuffix(id, ".jsonl")] = filepath.Join(dir, e.Name())
		}
	}
	return out, nil
}
