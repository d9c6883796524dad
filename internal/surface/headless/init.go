package headless

import "github.com/myelin-agent/myelin/internal/core/proto"

// Init is what the opening message of a turn tells beside the turn's own facts. Empty lists are
// written as empty lists.
type Init struct {
	Servers      []InitServer   // MCP servers
	Commands     []string       // slash commands that need no terminal
	Skills       []string       //
	Agents       []string       //
	Plugins      []InitPlugin   //
	KeySource    string         // ANTHROPIC_API_KEY, apiKeyHelper, "/login managed key", none; empty: none
	Version      string         // protocol version, as "myelin -v" begins
	OutputStyle  string         // empty: default
	Betas        []string       //
	AddedDirs    []string       //
	Effort       string         //
	MemoryPaths  map[string]any // absent when empty
	ServerErrors []InitError    //
	PluginErrors []InitError    //
}

// InitServer is one MCP server and its state: connected, failed, needs-auth, pending, disabled.
type InitServer struct {
	Name   string `json:"name"`
	Status string `json:"status"`
	Source string `json:"source,omitempty"`
}

// InitPlugin is one plugin that was loaded.
type InitPlugin struct {
	Name    string `json:"name"`
	Path    string `json:"path"`
	Version string `json:"version,omitempty"`
}

// InitError is a server or plugin that could not be loaded.
type InitError struct {
	Name    string
	Type    string
	Message string
}

// outwardTool is the name a tool is listed by: the subagent tool keeps its older one there.
func outwardTool(name string) string {
	if name == "Agent" {
		return "Task"
	}
	return name
}

func (m *mapper) init(e proto.Event, b proto.TurnStarted) object {
	in := m.opt.Init()
	tools := make([]string, 0, len(b.Tools))
	for _, t := range b.Tools {
		tools = append(tools, outwardTool(t))
	}
	o := object{
		{"type", "system"},
		{"subtype", "init"},
		{"cwd", b.Cwd},
		{"session_id", e.Session},
		{"tools", tools},
		{"mcp_servers", list(in.Servers)},
		{"model", wireModel(b.Model)},
		{"permissionMode", b.Mode},
		{"slash_commands", list(in.Commands)},
		{"apiKeySource", or(in.KeySource, "none")},
		{"claude_code_version", in.Version},
		{"output_style", or(in.OutputStyle, "default")},
		{"agents", list(in.Agents)},
		{"skills", list(in.Skills)},
		{"plugins", list(in.Plugins)},
		{"uuid", m.opt.NewID()},
		{"capabilities", []string{}},
		{"fast_mode_state", "off"},
	}
	if len(in.Betas) > 0 {
		o = o.with("betas", in.Betas)
	}
	if len(in.AddedDirs) > 0 {
		o = o.with("additional_directories", in.AddedDirs)
	}
	if len(in.MemoryPaths) > 0 {
		o = o.with("memory_paths", in.MemoryPaths)
	}
	if len(in.ServerErrors) > 0 {
		o = o.with("mcp_server_errors", initErrors("name", in.ServerErrors))
	}
	if len(in.PluginErrors) > 0 {
		o = o.with("plugin_errors", initErrors("plugin", in.PluginErrors))
	}
	return o.optional("effort", in.Effort)
}

func initErrors(key string, errors []InitError) []object {
	out := make([]object, 0, len(errors))
	for _, e := range errors {
		out = append(out, object{{key, e.Name}, {"type", e.Type}, {"message", e.Message}})
	}
	return out
}

func list[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}

func or(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}
