package screen

import (
	"strings"

	"github.com/myelin-agent/myelin/internal/sys/visible"
)

// lastState is what a line of output that overwrites itself by carriage returns shows in the end.
func lastState(line string) string {
	line = strings.TrimRight(line, "\r")
	if i := strings.LastIndexByte(line, '\r'); i >= 0 {
		return line[i+1:]
	}
	return line
}

// OutputLines are the lines of a command's output, safe to print.
func OutputLines(text string) []string {
	text = strings.TrimRight(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	if text == "" {
		return nil
	}
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		lines[i] = visible.Text(stripSGR(lastState(l)))
	}
	return lines
}

// stripSGR takes out the colours of a command's output. Other sequences stay, to be made visible.
func stripSGR(s string) string {
	if !strings.Contains(s, "\x1b[") {
		return s
	}
	var b strings.Builder
	for {
		i := strings.Index(s, "\x1b[")
		if i < 0 {
			b.WriteString(s)
			return b.String()
		}
		j := i + 2
		for j < len(s) && (s[j] >= '0' && s[j] <= '9' || s[j] == ';' || s[j] == ':') {
			j++
		}
		if j < len(s) && s[j] == 'm' {
			b.WriteString(s[:i])
			j++
		} else {
			b.WriteString(s[:j])
		}
		s = s[j:]
	}
}
