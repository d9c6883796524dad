package screen

import "strings"

// Style says how text may look. The zero Style uses no control characters and no signs beside
// words.
type Style struct {
	Attributes bool // bold, underline and the like may be used
	Color      bool // colours may be used
	Signs      bool // ✓ ✗ • and frames may be used; else words and ASCII
}

// StyleFor is the style for a terminal, by the customs of NO_COLOR (https://no-color.org),
// CLICOLOR_FORCE, FORCE_COLOR and TERM.
func StyleFor(tty bool, getenv func(string) string) Style {
	forced := isSet(getenv("CLICOLOR_FORCE")) || isSet(getenv("FORCE_COLOR"))
	term := getenv("TERM")
	if !forced && (!tty || term == "dumb" || term == "") {
		return Style{Signs: tty && utf8Locale(getenv) && term != "dumb"}
	}
	return Style{
		Attributes: true,
		Color:      getenv("NO_COLOR") == "" || forced && getenv("NO_COLOR") == "",
		Signs:      utf8Locale(getenv),
	}
}

func isSet(v string) bool { return v != "" && v != "0" }

// utf8Locale reports whether the terminal shows more than ASCII. Nothing said means yes: containers
// seldom set a locale, and their terminals are the user's own.
func utf8Locale(getenv func(string) string) bool {
	for _, key := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if v := getenv(key); v != "" {
			v = strings.ToLower(v)
			return strings.Contains(v, "utf-8") || strings.Contains(v, "utf8") || v == "c" || v == "posix"
		}
	}
	return true
}

// The looks. Each is switched off by its own code, so that they nest.
func (s Style) Bold(t string) string { return s.attr(t, "1", "22") }

// Dim is a text that matters less.
func (s Style) Dim(t string) string       { return s.attr(t, "2", "22") }
func (s Style) italic(t string) string    { return s.attr(t, "3", "23") }
func (s Style) underline(t string) string { return s.attr(t, "4", "24") }
func (s Style) strike(t string) string    { return s.attr(t, "9", "29") }

// Red is a text about what failed or is taken away.
func (s Style) Red(t string) string { return s.color(t, "31") }

// Green is a text about what succeeded or is added.
func (s Style) Green(t string) string { return s.color(t, "32") }

// Yellow is a text about what somebody should look at.
func (s Style) Yellow(t string) string { return s.color(t, "33") }
func (s Style) cyan(t string) string   { return s.color(t, "36") }

func (s Style) attr(t, on, off string) string {
	if !s.Attributes || t == "" {
		return t
	}
	return "\x1b[" + on + "m" + t + "\x1b[" + off + "m"
}

func (s Style) color(t, on string) string {
	if !s.Color || t == "" {
		return t
	}
	return "\x1b[" + on + "m" + t + "\x1b[39m"
}

// Sign is one of our few signs, or its ASCII twin.
func (s Style) Sign(pretty, ascii string) string {
	if s.Signs {
		return pretty
	}
	return ascii
}

// Words reports whether everything is said in words: no sign and no style tells anything.
func (s Style) Words() bool { return !s.Attributes && !s.Signs }

// Outcome is the sign of how something ended; the word stands beside it where it is not plain
// success, so that nothing depends on colour or glyph.
func (s Style) Outcome(how string) string {
	switch how {
	case "ok", "completed":
		return s.Green(s.Sign("✓", "ok"))
	case "refused":
		return s.Yellow(s.Sign("⊘", "refused"))
	case "interrupted", "not_run", "killed":
		return s.Yellow(s.Sign("■", "stopped"))
	case "error", "failed":
		return s.Red(s.Sign("✗", "failed"))
	}
	return s.Sign("●", "*")
}
