package tool

import "slices"

// renamed is one row of the table of names that tools once had.
type renamed struct {
	older, now string
	same       bool // the tool of today does what the older one did, and no more
}

// table holds every older name the program answers to. It is the only one: calls, rules, lists and
// matchers all ask it.
func table() []renamed {
	return []renamed{
		{"Task", "Agent", true},
		{"MultiEdit", "Edit", false},
		{"NotebookRead", "Read", false},
		{"BashOutput", "TaskOutput", true},
		{"AgentOutput", "TaskOutput", true},
		{"KillShell", "TaskStop", true},
		{"KillBash", "TaskStop", true},
		{"TodoRead", "TaskList", true},
		{"SlashCommand", "Skill", false},
		{"ListMcpResources", "ListMcpResourcesTool", true},
		{"ReadMcpResource", "ReadMcpResourceTool", true},
	}
}

// Current is the name a tool goes by today. A name that is no older one is its own.
func Current(name string) string {
	for _, r := range table() {
		if r.older == name {
			return r.now
		}
	}
	return name
}

// Widened reports an older name whose tool of today does more: what denies it or asks for it holds for
// today's, what allows it does not.
func Widened(name string) bool {
	return slices.ContainsFunc(table(), func(r renamed) bool { return r.older == name && !r.same })
}

// Older are the names a tool had before, in the order of the table.
func Older(name string) []string {
	var out []string
	for _, r := range table() {
		if r.now == name {
			out = append(out, r.older)
		}
	}
	return out
}

// OlderNames are all names that tools once had and still answer to.
func OlderNames() []string {
	var out []string
	for _, r := range table() {
		out = append(out, r.older)
	}
	return out
}

// Names are the names that rules, lists and matchers may speak of: of the tools the program brings, and of those it
// knows from settings written for others, which it may not have. Tools of servers and hosts have names of their own.
func Names() []string {
	return append([]string{
		"Agent", "AskUserQuestion", "Bash", "Cd", "CronCreate", "CronDelete", "CronList", "Edit", "EnterPlanMode", "EnterWorktree", "ExitPlanMode", "ExitWorktree", "Glob", "Grep",
		"ListMcpResourcesTool", "LS", "LSP", "Monitor", "NotebookEdit", "PowerShell", "Read", "ReadMcpResourceTool", "SendMessage", "Skill", "StructuredOutput",
		"TaskCreate", "TaskGet", "TaskList", "TaskOutput", "TaskStop", "TaskUpdate", "TeamCreate", "TeamDelete", "TodoWrite", "ToolSearch", "WebFetch", "WebSearch", "Write",
	}, OlderNames()...)
}
