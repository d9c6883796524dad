package shellsyntax

import (
	"path"
	"slices"
	"strings"

	"github.com/myelin-agent/myelin/internal/sys/shellsyntax/cmdline"
	"github.com/myelin-agent/myelin/internal/sys/shellsyntax/options"
)

// gitReader describes a git command.
type gitReader struct{ *describer }

// read reads the command from git's own options on.
func (d gitReader) read() {
	g := cmdline.ReadGitGlobal(d.words, d.at)
	for _, why := range g.Danger {
		d.runsProgram(why)
	}
	if len(g.Danger) > 0 {
		d.gitSettings(g.Sub)
	}
	for _, o := range g.Dirs {
		d.use(o, Enter)
		d.not(o.Name + " works in another place")
		if v := path.Clean(o.Value); v != "." && (v != ".git" || o.Name != "--git-dir") {
			d.runsProgram(o.Name + " works in another place, whose hooks and configuration would run")
		}
	}
	if g.Unknown {
		d.runsProgram("has a word before the subcommand that is only known at run time")
		return
	}
	if !g.Plain {
		d.not("git has options before the subcommand")
	}
	if g.Sub >= len(d.words) {
		return
	}
	name := d.words[g.Sub].Text
	sub := options.Find("git").Sub(name)
	if sub == nil {
		d.strange(name)
		for i := g.Sub + 1; i < len(d.words); i++ {
			d.tell(i, 0)
		}
		d.gitOperands(g.Sub)
		d.gitRuns(name, "")
		return
	}
	d.spec = sub
	d.a = cmdline.Take(sub, d.words, g.Sub)
	d.spec = d.a.Spec
	d.options()
	if d.a.Maybe {
		d.runsProgram(name + " has a word that is only known at run time and may be an option")
	}
	if (name == "diff" || name == "grep") && d.hasOption("--no-index") {
		d.eachPathAfter(g.Sub)
	}
	d.gitOperands(g.Sub)
	d.gitForms(name)
	d.gitSignatures()
	d.gitRepositories(name)
	d.gitContent(name)
	d.spec = options.Find("git")
}

// eachPathAfter notes every word that is no option as read, for --no-index.
func (d gitReader) eachPathAfter(sub int) {
	for i := sub + 1; i < len(d.words); i++ {
		if !strings.HasPrefix(d.words[i].Value, "-") {
			d.operand(i, Read)
		}
	}
}

// gitSettings notes the programs that settings before the subcommand name.
func (d gitReader) gitSettings(end int) {
	for i := d.at + 1; i < end; i++ {
		name, value, ok := strings.Cut(d.words[i].Value, "=")
		if alias, is := strings.CutPrefix(value, "!"); is {
			d.w.pendText(d.describer, alias, d.words[i].Static())
		} else if ok && cmdline.NamesProgram(strings.ToLower(name)) {
			d.w.pendText(d.describer, value, d.words[i].Static())
		}
	}
}

// gitSignatures notes formats with the check of a signature, for which git runs the program that its settings name.
func (d gitReader) gitSignatures() {
	for _, o := range d.a.Options {
		if !strings.HasPrefix(o.Name, "--form") && !strings.HasPrefix(o.Name, "--pre") {
			continue
		}
		if strings.Contains(o.Value, "%G") || strings.Contains(o.Value, "(signature") || !d.words[o.Word].Static() {
			d.runsProgram(o.Name + " checks signatures, which runs a program")
		}
	}
}

// gitOperands looks at the operands for what may run a program or name a file.
func (d gitReader) gitOperands(sub int) {
	for i := sub + 1; i < len(d.words); i++ {
		v := strings.ToLower(d.words[i].Value)
		if strings.Contains(v, "ext::") || strings.Contains(v, "fd::") {
			d.runsProgram("is given a URL that runs a program")
			if _, text, ok := strings.Cut(d.words[i].Value, "ext::"); ok {
				d.w.pendText(d.describer, strings.NewReplacer("% ", " ", "%S", "", "%%", "%").Replace(text), d.words[i].Static())
			}
		}
		if strings.HasPrefix(v, "file:") {
			d.runsProgram("is given another repository, whose hooks and configuration would run")
		}
		if outsidePath(&d.words[i]) {
			d.operand(i, Read) // git reads files outside of the repository, too
		}
		if _, rest, ok := strings.Cut(v, "://"); ok {
			h, _, _ := strings.Cut(rest, "/")
			d.host(h)
		}
	}
}

// outsidePath tells a word that is plainly a path out of the directory.
func outsidePath(w *Word) bool {
	v := w.Value
	return strings.HasPrefix(v, "/") || v == ".." || strings.HasPrefix(v, "../") || strings.Contains(v, "/../") || strings.HasSuffix(v, "/..") || w.Home()
}

// gitForms settles the subcommands of which only some forms read, and those that run programs.
func (d gitReader) gitForms(name string) {
	ops := d.a.Operands
	first := d.operandText(0)
	switch name {
	case "branch", "tag":
		d.gitRefs(name)
	case "stash":
		if first != "list" && first != "show" {
			d.not("git stash " + first + " changes something")
		}
	case "worktree":
		if first != "list" {
			d.not("git worktree " + first + " changes something")
		}
	case "remote":
		if len(ops) > 0 && first != "get-url" {
			d.not("git remote " + first + " changes something or asks the remote")
		}
		for _, o := range d.a.Options {
			if o.Name != "-v" && o.Name != "--verbose" && first != "get-url" {
				d.not("git remote " + o.Name + " changes something or asks the remote")
			}
		}
	case "submodule":
		if first == "foreach" {
			d.runsProgram("submodule foreach runs a program")
			d.innerText(d.words[ops[0]+1:])
		}
		if first != "status" || d.hasOption("--init", "--remote") {
			d.not("git submodule " + first + " changes something")
		}
	case "config":
		d.gitConfig(first)
	case "reflog":
		switch first {
		case "expire", "delete", "drop", "write":
			d.not("git reflog " + first + " changes something")
		}
	default:
		d.gitRuns(name, first)
	}
	if !d.spec.ReadOnly {
		d.not("git " + name + " does more than read")
	}
}

// gitRefs tells listing branches and tags from changing them.
func (d gitReader) gitRefs(name string) {
	listing := len(d.a.Operands) == 0 || d.hasOption("-l", "--list", "--contains", "--no-contains", "--merged", "--no-merged", "--points-at") ||
		name == "tag" && d.hasOption("-n")
	for _, o := range d.a.Options {
		switch o.Name {
		case "-d", "-D", "-m", "-M", "-c", "-C", "-f", "-t", "-u", "-F", "-s", "-e":
			listing = false
		}
	}
	if d.hasOption("--delete", "--move", "--copy", "--force", "--track", "--no-track", "--set-upstream-to", "--unset-upstream",
		"--create-reflog", "--edit-description", "--annotate", "--message", "--file", "--cleanup", "--edit", "--trailer", "--recurse-submodules") || name == "tag" && d.hasOption("-a") {
		listing = false
	}
	if !listing {
		d.not("git " + name + " changes refs in this form")
	}
}

// gitConfig tells reading the configuration from changing it.
func (d gitReader) gitConfig(first string) {
	ops := d.a.Operands
	get := d.hasOption("--get", "--get-all", "--get-regexp", "--list", "-l", "--get-urlmatch") || first == "get" || first == "list" ||
		len(ops) == 1 && strings.Contains(first, ".")
	if !get {
		d.runsProgram("config changes which programs git runs")
		for _, i := range ops {
			d.tell(i, 0)
			if text, ok := strings.CutPrefix(d.words[i].Value, "!"); ok {
				d.w.pendText(d.describer, text, d.words[i].Static())
			}
		}
	}
	for _, o := range d.a.Options {
		if !o.Known {
			d.runsProgram("config has an option that changes something")
		}
	}
}

// gitRepositories notes repositories other than the project's own that a command works with: their hooks and
// configuration would run.
func (d gitReader) gitRepositories(name string) {
	ops := d.a.Operands
	switch name {
	case "fetch", "pull", "push", "clone", "ls-remote", "fetch-pack", "send-pack", "archive":
		if len(ops) > 0 && name != "archive" {
			d.repository(ops[0])
		}
	case "upload-pack", "receive-pack", "upload-archive", "request-pull":
		for _, i := range ops {
			d.repository(i)
		}
	case "remote", "submodule":
		for _, i := range ops[min(1, len(ops)):] {
			d.repository(i)
		}
	}
	for _, o := range d.a.Options {
		switch o.Name {
		case "--repo", "--reference", "--reference-if-able", "--bundle-uri":
			if cmdline.LocalPath(o.Value) {
				d.runsProgram("is given another repository, whose hooks and configuration would run")
			}
		}
	}
}

func (d gitReader) repository(i int) {
	if v := d.words[i].Value; cmdline.LocalPath(v) && v != "." {
		d.runsProgram("is given another repository, whose hooks and configuration would run")
	}
}

// gitContent notes the commands that print what the repository tracks without naming it.
func (d gitReader) gitContent(name string) {
	if !d.printsContent(name) {
		return
	}
	if d.a.Dashes > 0 {
		plain := d.a.Dashes < len(d.words)-1
		for i := d.a.Dashes + 1; i < len(d.words); i++ {
			v := d.words[i].Value
			plain = plain && d.words[i].Static() && v != "" && !strings.ContainsAny(v, "*?[\\") && v[0] != ':'
		}
		if plain {
			d.recursive = true
			for i := d.a.Dashes + 1; i < len(d.words); i++ {
				d.operand(i, Read)
			}
			d.recursive = false
			return
		}
	} else if objects := d.objects(name); objects {
		return
	}
	d.p.Uses = append(d.p.Uses, PathUse{Text: "what git " + name + " prints", Intent: Read, Tree: true})
}

// objects notes files named as REV:PATH, and tells whether nothing else is printed.
func (d gitReader) objects(name string) bool {
	if name != "show" && name != "cat-file" || len(d.a.Operands) == 0 {
		return false
	}
	for _, i := range d.a.Operands {
		_, file, ok := strings.Cut(d.words[i].Value, ":")
		if !ok || file == "" || !d.words[i].Static() {
			return false
		}
	}
	for _, i := range d.a.Operands {
		_, file, _ := strings.Cut(d.words[i].Value, ":")
		d.useValue(file, i, Read) // of a folder it prints the names alone
	}
	return true
}

// printsContent tells whether a subcommand prints the content of files in this form.
func (d gitReader) printsContent(name string) bool {
	patch := d.hasOption("-p", "-u", "-U", "-L", "--patch", "--patch-with-raw", "--patch-with-stat", "--unified", "--cc", "--word-diff", "--color-words",
		"--full-diff", "--function-context", "-W", "--binary", "--remerge-diff", "--dd", "--diff-merges", "--inter-hunk-context")
	switch name {
	case "grep", "format-patch", "fast-export", "blame", "annotate", "merge-tree", "archive", "bundle":
		return name != "blame" && name != "annotate"
	case "show", "diff", "diff-files", "diff-index", "range-diff", "cat-file":
		return patch || !d.hasOption("--stat", "--shortstat", "--numstat", "--summary", "--name-only", "--name-status", "--raw", "-s", "--no-patch", "--quiet", "--compact-summary", "--dirstat", "-t", "-e", "--check")
	case "log", "whatchanged", "reflog", "stash", "diff-tree", "rev-list":
		return patch
	}
	return false
}

// gitRuns settles the subcommands that run programs.
func (d gitReader) gitRuns(name, first string) {
	ops := d.a.Operands
	switch name {
	case "bisect":
		if first == "run" {
			d.runsProgram("bisect run runs a program")
			d.innerWords(d.words[ops[0]+1:])
		}
		if first == "visualize" || first == "view" {
			d.runsProgram("bisect " + first + " starts a viewer")
		}
	case "grep":
		for _, o := range d.a.Options {
			if o.Name == "-O" || len(o.Name) > 4 && strings.HasPrefix("--open-files-in-pager", o.Name) {
				d.w.pendText(d.describer, o.Value, d.words[o.Word].Static())
			}
		}
	case "merge", "rebase", "pull", "cherry-pick", "revert":
		d.gitStrategy()
	case "filter-branch", "difftool", "mergetool", "instaweb", "gui", "citool", "gitk", "send-email", "svn", "p4", "cvsserver", "daemon", "shell",
		"remote-ext", "remote-fd", "web--browse", "hook", "for-each-repo", "bugreport", "diagnose", "credential", "fast-import":
		d.runsProgram(name + " runs programs, or does what it is told by a file")
		d.gitToldPrograms()
	case "notes":
		switch {
		case first == "edit", (first == "add" || first == "append") && !d.hasOption("-m", "-F", "-C", "--message", "--file", "--reuse-message"):
			d.runsProgram("notes starts the editor")
		}
	case "help":
		d.not("git help starts a program")
	}
}

// gitStrategy notes a merge strategy that is none of git's own: it is a program.
func (d gitReader) gitStrategy() {
	for _, o := range d.a.Options {
		if o.Name == "-s" || len(o.Name) > 6 && strings.HasPrefix("--strategy", o.Name) {
			switch o.Value {
			case "", "ours", "theirs", "recursive", "ort", "resolve", "octopus", "subtree":
			default:
				d.runsProgram("runs the program git-merge-" + o.Value)
			}
		}
	}
}

// gitToldPrograms notes the values of the options of a subcommand that runs programs: each may name one.
func (d gitReader) gitToldPrograms() {
	for i := d.at + 2; i < len(d.words); i++ {
		v, static := d.words[i].Value, d.words[i].Static()
		if _, value, ok := strings.Cut(v, "="); ok && strings.HasPrefix(v, "--") {
			d.w.pendText(d.describer, value, static)
		} else if strings.HasPrefix(d.words[i-1].Value, "-") && !strings.HasPrefix(v, "-") {
			d.w.pendText(d.describer, v, static)
		}
	}
}

// innerText notes words that are joined and read by a shell.
func (d gitReader) innerText(words []Word) {
	texts := make([]string, len(words))
	static := true
	for i := range words {
		texts[i] = words[i].Value
		static = static && words[i].Static()
	}
	d.w.pendText(d.describer, strings.Join(texts, " "), static)
}

// GitSubcommand returns the index of the word after git's own options, for the git command at
// words[at] of the part; 0 when there is none or it is not known.
func GitSubcommand(p *Part, at int) int {
	g := cmdline.ReadGitGlobal(p.Words, at)
	if g.Unknown || g.Sub >= len(p.Words) {
		return 0
	}
	return g.Sub
}

// Subcommand returns the index of the sub-command of the program at words[at], behind the program's own options; 0 when
// there is none or the program is not known.
func Subcommand(p *Part, at int, program string) int {
	if program == "git" {
		return GitSubcommand(p, at)
	}
	if at+1 >= len(p.Words) || !strings.HasPrefix(p.Words[at+1].Value, "-") {
		return 0
	}
	spec := options.Find(program)
	if spec == nil || !spec.Subs() {
		return 0
	}
	a := cmdline.Take(spec, p.Words, at)
	name, _, _ := strings.Cut(a.Sub, " ")
	if name == "" && len(a.Operands) > 0 {
		return a.Operands[0]
	}
	for i := at + 1; i < len(p.Words) && name != ""; i++ {
		if p.Words[i].Value == name && !slices.ContainsFunc(a.Options, func(o cmdline.Arg) bool { return o.Word == i }) {
			return i
		}
	}
	return 0
}

// GitPlain tells whether nothing stands between git and its subcommand but options that leave
// programs, configuration and repository alone (--no-pager and its like) and, when dirs is true, -C.
func GitPlain(p *Part, at int) (plain, dirs bool) {
	g := cmdline.ReadGitGlobal(p.Words, at)
	return g.Plain, g.OnlyDirs
}
