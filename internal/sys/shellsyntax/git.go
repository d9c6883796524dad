package shellsyntax

import (
	"strings"
	"sync"
)

// gitGlobal reads the options between "git" and its subcommand. It returns the index of the
// subcommand (len(words) for none).
type gitGlobal struct {
	sub      int      // index of the subcommand
	danger   []string // options that name programs or configuration
	dirs     []arg    // -C, --git-dir, --work-tree
	plain    bool     // nothing but --no-pager and its like
	moves    bool     // another directory or repository
	unknown  bool     // a word before the subcommand is only known at run time
	onlyDirs bool     // nothing but plain ones and -C
}

func readGitGlobal(words []Word, at int) gitGlobal {
	g := gitGlobal{plain: true, onlyDirs: true}
	i := at + 1
	for ; i < len(words); i++ {
		w := &words[i]
		if !w.Static() {
			g.unknown = true
			g.plain, g.onlyDirs = false, false
			break
		}
		text := w.Text
		if len(text) < 2 || text[0] != '-' {
			break
		}
		name, val, hasVal := strings.Cut(text, "=")
		switch {
		case text == "-C":
			g.plain, g.moves = false, true
			if i+1 < len(words) {
				i++
				g.dirs = append(g.dirs, arg{name: "-C", word: i, value: words[i].Value})
			}
		case text == "-c", name == "--config-env", name == "--exec-path" && hasVal:
			g.danger = append(g.danger, name+" sets configuration or programs")
			g.plain, g.onlyDirs = false, false
			if text == "-c" || (name == "--config-env" && !hasVal) {
				i++
			}
		case strings.HasPrefix(text, "-c"):
			g.danger = append(g.danger, "-c sets configuration")
			g.plain, g.onlyDirs = false, false
		case text == "-p", text == "--paginate":
			g.danger = append(g.danger, text+" runs the pager")
			g.plain, g.onlyDirs = false, false
		case text == "--git-dir", text == "--work-tree", text == "--namespace", text == "--super-prefix", text == "--attr-source":
			g.plain, g.onlyDirs, g.moves = false, false, true
			if i+1 < len(words) {
				i++
				g.dirs = append(g.dirs, arg{name: text, word: i, value: words[i].Value})
			}
		case name == "--git-dir", name == "--work-tree":
			g.plain, g.onlyDirs, g.moves = false, false, true
			g.dirs = append(g.dirs, arg{name: name, word: i, from: len(name) + 1, value: val})
		case text == "--no-pager", text == "-P", text == "--no-optional-locks", text == "--literal-pathspecs", text == "--no-replace-objects", text == "--no-advice", text == "--no-lazy-fetch":
		case text == "--version", text == "-v", text == "--help", text == "-h", text == "--html-path", text == "--man-path", text == "--info-path", text == "--exec-path":
			g.onlyDirs = g.onlyDirs && g.plain
		default:
			g.plain, g.onlyDirs = false, false
		}
	}
	g.sub = min(i, len(words))
	return g
}

// gitSub is what is known of one subcommand.
type gitSub struct {
	readOnly bool
	opts     *spec // harmless options of a read-only form, and those that write or run anywhere
}

// gitLines is the table of git subcommands (git 2.39 and later). Options with "!" run programs or
// name them in any mode; for the read-only ones only the listed options count.
const gitLines = `
status | ro | -s -b -v -u? -z -M? --short --branch --show-stash --porcelain? --long --verbose --untracked-files? --ignore-submodules? --ignored? --column? --no-column --ahead-behind --no-ahead-behind --renames --no-renames --find-renames? --no-lock-index
log | ro digits | @log
show | ro digits | @log
diff | ro digits | @log --cached --staged --merge-base --no-index
whatchanged | ro digits | @log
shortlog | ro digits | @log -c -s -n -e -w? --numbered --summary --email --group:
reflog | ro digits | @log
blame annotate | ro digits | -L: -l -t -s -e -w -b -c -f -n -p -M? -C? -S: --root --show-stats --date: --porcelain --line-porcelain --incremental --abbrev: --show-name --show-number --show-email --ignore-rev: --ignore-revs-file< --color-lines --color-by-age --score-debug --progress --no-progress --reverse --first-parent --encoding: --contents<
rev-parse | ro any |
rev-list | ro digits | @log --objects --count --all --use-bitmap-index --disk-usage? --header --timestamp --bisect --bisect-vars --test-bitmap
ls-files | ro | -c -d -m -o -i -s -t -u -v -f -z -k -x: -X< --cached --deleted --modified --others --ignored --stage --directory --no-empty-directory --unmerged --killed --resolve-undo --exclude: --exclude-from< --exclude-per-directory: --exclude-standard --error-unmatch --with-tree: --full-name --recurse-submodules --abbrev? --debug --eol --deduplicate --format: --sparse
ls-tree | ro | -d -r -t -l -z --name-only --name-status --object-only --full-name --full-tree --abbrev? --long --format:
ls-remote | | --upload-pack!: --exec!: -o: --server-option:
cat-file | ro | -t -s -e -p --batch? --batch-check? --batch-command? --batch-all-objects --buffer --unordered --allow-unknown-type --follow-symlinks --mailmap --no-mailmap --use-mailmap -Z -z --textconv! --filters! --path:
describe | ro any |
merge-base | ro any |
for-each-ref | ro | --count: --shell --perl --python --tcl --sort: --format: --color? --points-at: --merged? --no-merged? --contains? --no-contains? --ignore-case --omit-empty --exclude: --include-root-refs --start-after:
show-ref | ro | --head --heads --tags --branches -d --dereference -s --hash? --verify --abbrev? -q --quiet --exclude-existing? --exists
name-rev | ro any |
count-objects | ro any |
var | |
version | ro any |
grep | ro digits | -a -i -I -w -v -h -H -E -G -P -F -n -l -L -z -c -p -W -q -o -r -A: -B: -C: -m: -e: -f< --cached --untracked --no-index --recurse-submodules --text --ignore-case --word-regexp --invert-match --full-name --extended-regexp --basic-regexp --perl-regexp --fixed-strings --line-number --column --files-with-matches --name-only --files-without-match --null --only-matching --count --color? --no-color --break --heading --show-function --function-context --context: --after-context: --before-context: --max-count: --max-depth: --threads: --and --or --not --all-match --quiet --no-exclude-standard --exclude-standard --recursive --no-recursive --textconv! --no-textconv --open-files-in-pager!? -O!? --ext-grep!
branch | | -v -vv -a -r -l --list --all --remotes --show-current --verbose --contains? --no-contains? --merged? --no-merged? --points-at: --sort: --format: --column? --no-column --color? --no-color --abbrev? --no-abbrev -i --ignore-case --omit-empty
tag | | -l -n? --list --sort: --format: --contains? --no-contains? --merged? --no-merged? --points-at: --column? --no-column --color? -i --ignore-case --omit-empty
stash | | --stat -p --patch --format: --oneline
worktree | | --porcelain -v -z --verbose
remote | | -v --verbose
config | | --get --get-all --get-regexp --list -l --local --global --system --worktree --show-origin --show-scope --name-only -z --null --type: --bool --int --bool-or-int --path --includes --no-includes --default: --get-urlmatch -f< --file< --blob: --all --regexp --value: --url:
clone | | --upload-pack!: -u!: -c!: --config!: --template!: -b: -o: -j: --branch: --origin: --depth: --jobs: --reference: --reference-if-able: --separate-git-dir> --shallow-since: --shallow-exclude: --filter: --server-option: --bundle-uri: --recurse-submodules?
fetch pull | | --upload-pack!: -o: -j: --depth: --deepen: --shallow-since: --shallow-exclude: --refmap: --jobs: --server-option: --negotiation-tip: --filter: -X: -s: --strategy: --strategy-option: -S? --gpg-sign? -r? --rebase?
push | | --receive-pack!: --exec!: -o: --push-option: --repo: --force-with-lease? --signed? --recurse-submodules:
send-pack fetch-pack receive-pack upload-pack archive http-backend daemon shell remote-ext remote-fd upload-archive | | --exec!: --upload-pack!: --receive-pack!: --remote!: -o> --output>
rebase | | -x!: --exec!: -s: -X: --onto: --strategy: --strategy-option: -S? --gpg-sign? -C: --whitespace: --empty: -i! --interactive! --edit-todo!
bisect | | 
submodule | | -b: --branch: --name: --reference: --depth: -j: --jobs:
filter-branch | | --env-filter!: --tree-filter!: --index-filter!: --parent-filter!: --msg-filter!: --commit-filter!: --tag-name-filter!: --setup!: --subdirectory-filter: -d: --original: --state-branch:
difftool mergetool | | -x!: --extcmd!: -t!: --tool!:
commit | | -m: -F< -C: -c: -t< --message: --file< --reuse-message: --reedit-message: --template< --author: --date: --fixup: --squash: --trailer: --cleanup: -S? --gpg-sign? -u? --untracked-files? --pathspec-from-file<
add rm restore reset checkout switch mv | | -b: -B: -s: -c: -C: --source: --conflict: --pathspec-from-file< --orphan: --chmod: -p! --patch! -i! --interactive! -e! --edit!
merge cherry-pick revert | | -m: -F< -s: -X: --message: --file< --strategy: --strategy-option: -S? --gpg-sign? --into-name: --cleanup: --mainline: -e! --edit!
am apply | | --directory: -p: -C: --include: --exclude: --whitespace: --build-fake-ancestor> -i! --interactive!
format-patch | | -o> --output-directory> --output> --attach? --to: --cc: --from? --subject-prefix: -v: --signature-file< --ext-diff! --textconv!
bundle | |
init | | --template!: --separate-git-dir> -b: --initial-branch: --object-format: --shared?
send-email | | --smtp-server!: --sendmail-cmd!: --to-cmd!: --cc-cmd!: --header-cmd!: --compose! --smtp-debug: --validate!
instaweb gui citool gitk svn p4 cvsserver | | --httpd!: --browser!: --config-dir!:
notes | | -m: -F< -C: -c: --message: --file< --ref: -e! --edit!
gc maintenance repack prune fsck pack-objects | | 
help | | -w! --web! -i! --info! -m! --man!
`

// gitLogOptions are the harmless options of log, diff, show and their like, and those that write
// or run.
const gitLogOptions = ` -p -u -s -U: -z -w -b -a -R -M? -C? -B? -D -l: -S: -G: -O< -1 -n: -i -E -F -P -g -t -r -c -m -q -W -X?
 --patch --no-patch --unified: --raw --patch-with-raw --patch-with-stat --minimal --patience --histogram --anchored: --diff-algorithm:
 --stat? --stat-width: --stat-count: --compact-summary --numstat --shortstat --dirstat? --cumulative --summary --name-only --name-status
 --submodule? --color? --no-color --color-moved? --no-color-moved --color-moved-ws: --word-diff? --word-diff-regex: --color-words? --no-renames
 --rename-empty --check --ws-error-highlight: --full-index --binary --abbrev? --no-abbrev --break-rewrites? --find-renames? --find-copies?
 --find-copies-harder --irreversible-delete --diff-filter: --find-object: --pickaxe-all --pickaxe-regex --skip-to: --rotate-to: --relative?
 --no-relative --text --ignore-cr-at-eol --ignore-space-at-eol --ignore-space-change --ignore-all-space --ignore-blank-lines --ignore-matching-lines:
 -I: --inter-hunk-context: --function-context --exit-code --quiet --no-ext-diff --no-textconv --ignore-submodules? --src-prefix: --dst-prefix:
 --no-prefix --default-prefix --line-prefix: --ita-invisible-in-index --oneline --pretty? --format: --abbrev-commit --no-abbrev-commit --encoding:
 --expand-tabs? --no-expand-tabs --notes? --no-notes --show-notes? --show-signature~ --follow --decorate? --no-decorate --decorate-refs: --decorate-refs-exclude:
 --source --mailmap --no-mailmap --use-mailmap --full-diff --log-size -L: --max-count: --skip: --since: --after: --until: --before: --author: --committer:
 --grep: --grep-reflog: --all-match --invert-grep --regexp-ignore-case --basic-regexp --extended-regexp --fixed-strings --perl-regexp
 --remove-empty --merges --no-merges --min-parents: --max-parents: --no-min-parents --no-max-parents --first-parent --exclude-first-parent-only --not --all --branches? --tags?
 --remotes? --glob: --exclude: --exclude-hidden: --reflog --alternate-refs --single-worktree --ignore-missing --bisect --stdin~ --cherry-mark --cherry-pick
 --left-only --right-only --cherry --walk-reflogs --merge --boundary --simplify-by-decoration --show-pulls --full-history --dense --sparse
 --simplify-merges --ancestry-path? --date-order --author-date-order --topo-order --reverse --no-walk? --do-walk --relative-date --date: --parents
 --children --left-right --graph --show-linear-break? --cc --combined-all-paths --diff-merges: --no-diff-merges --remerge-diff --dd
 --output>  -o> --ext-diff! --textconv! --output-indicator-new: --output-indicator-old: --output-indicator-context: `

var gitSubs = sync.OnceValue(func() map[string]*gitSub {
	out := map[string]*gitSub{}
	for line := range strings.SplitSeq(gitLines, "\n") {
		if strings.TrimSpace(line) == "" {
			continue
		}
		line = strings.Replace(line, "@log", gitLogOptions, 1)
		names, s := parseSpec(line)
		for _, n := range names {
			out[n] = &gitSub{readOnly: s.readOnly, opts: s}
		}
	}
	return out
})

// git reads a git command.
func (d *describer) git() {
	g := readGitGlobal(d.words, d.at)
	for _, why := range g.danger {
		d.runsProgram(why)
	}
	for _, o := range g.dirs {
		d.use(o, Enter)
		d.not(o.name + " works in another place")
	}
	if g.unknown {
		d.runsProgram("has a word before the subcommand that is only known at run time")
		return
	}
	if !g.plain {
		d.not("git has options before the subcommand")
	}
	if g.sub >= len(d.words) {
		return
	}
	name := d.words[g.sub].Text
	if name == "diff" || name == "grep" {
		for i := g.sub + 1; i < len(d.words); i++ {
			if strings.HasPrefix("--no-index", d.words[i].Value) && len(d.words[i].Value) > 5 {
				d.eachPathAfter(g.sub)
				break
			}
		}
	}
	sub := gitSubs()[name]
	if sub == nil {
		d.not("git " + name + " is not known to only read")
		d.gitOperands(g.sub)
		return
	}
	d.spec = sub.opts
	d.a = d.spec.take(d.words, g.sub)
	d.options()
	if d.a.maybe && (d.spec.exec || sub.readOnly) {
		if d.spec.exec {
			d.runsProgram(name + " has a word that is only known at run time and may be an option")
		} else {
			d.not("a word that is only known at run time may be an option")
		}
	}
	d.gitOperands(g.sub)
	d.gitForms(name, sub)
	d.spec = specs()["git"]
}

// eachPathAfter notes every word that is no option as read, for --no-index.
func (d *describer) eachPathAfter(sub int) {
	for i := sub + 1; i < len(d.words); i++ {
		if !strings.HasPrefix(d.words[i].Value, "-") {
			d.operand(i, Read)
		}
	}
}

// gitOperands looks at the operands for what may run a program or name a file.
func (d *describer) gitOperands(sub int) {
	for i := sub + 1; i < len(d.words); i++ {
		v := strings.ToLower(d.words[i].Value)
		if strings.Contains(v, "ext::") || strings.Contains(v, "fd::") {
			d.runsProgram("is given a URL that runs a program")
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
func (d *describer) gitForms(name string, sub *gitSub) {
	ops := d.a.operands
	first := ""
	if len(ops) > 0 {
		first = d.words[ops[0]].Value
	}
	unlisted := false
	for _, o := range d.a.options {
		unlisted = unlisted || !o.known
	}
	switch name {
	case "branch", "tag":
		listing := len(ops) == 0 || d.hasOption("-l", "--list", "--contains", "--no-contains", "--merged", "--no-merged", "--points-at")
		if name == "branch" && (d.hasOption("--show-current") && len(ops) == 0) {
			listing = true
		}
		if name == "tag" && d.hasOption("-n") {
			listing = true
		}
		if !listing || unlisted {
			d.not("git " + name + " changes refs in this form")
		}
	case "stash", "worktree":
		if first != "list" && !(name == "stash" && first == "show") {
			d.not("git " + name + " " + first + " changes something")
		}
		if name == "stash" && first == "show" {
			d.not("git stash show is not in the set")
		}
	case "remote":
		if len(ops) > 0 && first != "get-url" {
			d.not("git remote " + first + " changes something or asks the remote")
		}
	case "config":
		get := d.hasOption("--get", "--get-all", "--get-regexp", "--list", "-l", "--get-urlmatch") || first == "get" || first == "list"
		if !get {
			d.runsProgram("config changes which programs git runs")
		}
		if unlisted {
			d.runsProgram("config has an option that changes something")
		}
	case "reflog":
		switch first {
		case "expire", "delete", "drop", "write":
			d.not("git reflog " + first + " changes something")
		}
	default:
		d.gitRuns(name, first)
	}
	if sub.readOnly {
		return
	}
	switch name {
	case "branch", "tag", "stash", "worktree", "remote", "config":
		return // settled above
	}
	d.not("git " + name + " does more than read")
}

// gitRuns settles the subcommands that run programs.
func (d *describer) gitRuns(name, first string) {
	ops := d.a.operands
	switch name {
	case "bisect":
		if first == "run" {
			d.runsProgram("bisect run runs a program")
			d.innerWords(d.words[ops[0]+1:])
		}
	case "submodule":
		if first == "foreach" {
			d.runsProgram("submodule foreach runs a program")
			d.innerText(d.words[ops[0]+1:])
		}
	case "filter-branch", "difftool", "mergetool", "instaweb", "gui", "citool", "send-email", "svn", "p4", "remote-ext", "remote-fd", "shell", "daemon":
		d.runsProgram(name + " runs programs")
	case "rebase":
		for _, o := range d.a.options {
			if o.name == "-x" || strings.HasPrefix("--exec", o.name) && len(o.name) > 3 {
				d.w.pendText(d, o.value, d.words[o.word].Static())
			}
		}
	case "help":
		d.not("git help starts a program")
	}
}

// innerText notes words that are joined and read by a shell.
func (d *describer) innerText(words []Word) {
	texts := make([]string, len(words))
	static := true
	for i := range words {
		texts[i] = words[i].Value
		static = static && words[i].Static()
	}
	d.w.pendText(d, strings.Join(texts, " "), static)
}

// GitSubcommand returns the index of the word after git's own options, for the git command at
// words[at] of the part; 0 when there is none or it is not known.
func GitSubcommand(p *Part, at int) int {
	g := readGitGlobal(p.Words, at)
	if g.unknown || g.sub >= len(p.Words) {
		return 0
	}
	return g.sub
}

// GitPlain tells whether nothing stands between git and its subcommand but options that leave
// programs, configuration and repository alone (--no-pager and its like) and, when dirs is true, -C.
func GitPlain(p *Part, at int) (plain, dirs bool) {
	g := readGitGlobal(p.Words, at)
	return g.plain, g.onlyDirs
}
