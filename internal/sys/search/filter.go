package search

import (
	"errors"
	"fmt"
	"sort"
	"strings"
	"sync"

	"github.com/myelin-agent/myelin/internal/sys/pathpattern"
)

// Filter decides by its path whether a file is searched. The zero Filter lets everything through.
type Filter struct {
	only []pathpattern.Pattern // one of them must match, if there are any
	not  []pathpattern.Pattern // none of them may
	kind []pathpattern.Pattern // one of them must match, if there are any: the file type
}

// NewFilter compiles globs as ripgrep's --glob takes them (gitignore patterns, with {a,b}; a
// leading "!" leaves out), several parted by commas, and the name of a file type as for ripgrep's
// --type. Both may be empty. A bad glob is a *[GlobError].
func NewFilter(globs, kind string) (Filter, error) {
	var f Filter
	for _, g := range splitGlobs(globs) {
		text, negated := strings.CutPrefix(g, "!")
		for _, one := range expandBraces(text, 64) {
			p, err := compileGlob(one)
			if err != nil {
				return Filter{}, err
			}
			if negated {
				f.not = append(f.not, p)
			} else {
				f.only = append(f.only, p)
			}
		}
	}
	if kind == "" {
		return f, nil
	}
	names, ok := fileTypes()[kind]
	if !ok {
		return Filter{}, fmt.Errorf("unknown file type %q; %s", kind, typeHint(kind))
	}
	for _, name := range names {
		p, err := compileGlob(name)
		if err != nil {
			return Filter{}, err
		}
		f.kind = append(f.kind, p)
	}
	return f, nil
}

func compileGlob(text string) (pathpattern.Pattern, error) {
	p, err := pathpattern.Compile(strings.TrimPrefix(text, "./"), pathpattern.Options{})
	switch {
	case errors.Is(err, pathpattern.ErrUnclosed):
		return p, &GlobError{text, globProblem(text)}
	case err != nil:
		return p, &GlobError{text, err.Error()}
	}
	return p, nil
}

// Empty tells whether everything is let through.
func (f Filter) Empty() bool { return len(f.only)+len(f.not)+len(f.kind) == 0 }

// Match tells whether the file at a path with slashes, relative to where the search began, is
// wanted. A file is also wanted when a folder above it matches.
func (f Filter) Match(rel string) bool {
	return (len(f.only) == 0 || anyCovers(f.only, rel)) &&
		(len(f.kind) == 0 || anyCovers(f.kind, rel)) && !anyCovers(f.not, rel)
}

func anyCovers(patterns []pathpattern.Pattern, rel string) bool {
	for _, p := range patterns {
		if p.Covers(rel) {
			return true
		}
	}
	return false
}

// splitGlobs parts globs at commas outside of braces, and at blanks when every part is clearly a
// glob.
func splitGlobs(s string) []string {
	var out []string
	depth, from := 0, 0
	add := func(part string) {
		part = strings.TrimSpace(part)
		fields := strings.Fields(part)
		for _, f := range fields {
			if !strings.ContainsAny(f, "*!") {
				fields = []string{part}
				break
			}
		}
		if part != "" {
			out = append(out, fields...)
		}
	}
	for i, r := range s {
		switch {
		case r == '{':
			depth++
		case r == '}' && depth > 0:
			depth--
		case r == ',' && depth == 0:
			add(s[from:i])
			from = i + 1
		}
	}
	add(s[from:])
	return out
}

// expandBraces writes out the alternatives of a glob, at most limit; one with more, or with braces
// that do not match, comes back as it is.
func expandBraces(glob string, limit int) []string {
	open := strings.IndexByte(glob, '{')
	if open < 0 || (open > 0 && glob[open-1] == '\\') {
		return []string{glob}
	}
	depth, from := 0, open+1
	var parts []string
	for i := open; i < len(glob); i++ {
		switch {
		case glob[i] == '{':
			depth++
		case glob[i] == ',' && depth == 1:
			parts = append(parts, glob[from:i])
			from = i + 1
		case glob[i] == '}':
			depth--
		}
		if depth == 0 {
			parts = append(parts, glob[from:i])
			return combine(glob[:open], parts, glob[i+1:], limit)
		}
	}
	return []string{glob}
}

func combine(head string, parts []string, tail string, limit int) []string {
	var out []string
	for _, p := range parts {
		out = append(out, expandBraces(head+p+tail, limit)...)
		if len(out) > limit {
			return []string{head + "{" + strings.Join(parts, ",") + "}" + tail}
		}
	}
	return out
}

// typeHint lists the types that sound like an unknown one, else some.
func typeHint(kind string) string {
	var near []string
	for name, globs := range fileTypes() {
		if strings.Contains(name, kind) || strings.Contains(kind, name) && len(name) > 2 || contains(globs, "*."+kind) {
			near = append(near, name)
		}
	}
	if near == nil {
		return "use glob instead, for instance glob: \"*." + kind + "\""
	}
	sort.Strings(near)
	return "did you mean " + strings.Join(near[:min(len(near), 5)], ", ") + "?"
}

func contains(list []string, s string) bool {
	for _, l := range list {
		if l == s {
			return true
		}
	}
	return false
}

// fileTypes are the file types by name. The names and what they stand for are those of ripgrep's
// --type-list, as far as programmers are likely to ask for them.
var fileTypes = sync.OnceValue(func() map[string][]string {
	out := map[string][]string{}
	for _, line := range strings.Split(strings.TrimSpace(typeTable), "\n") {
		names, globs, _ := strings.Cut(line, ": ")
		for _, name := range strings.Split(names, "|") {
			out[name] = strings.Fields(globs)
		}
	}
	return out
})

const typeTable = `
ada: *.adb *.ads
agda: *.agda *.lagda
asciidoc: *.adoc *.asc *.asciidoc
asm: *.asm *.s *.S
asp: *.aspx *.aspx.cs *.aspx.vb *.ascx *.ascx.cs *.ascx.vb *.asp
avro: *.avdl *.avpr *.avsc
awk: *.awk
bat|batch: *.bat *.cmd
bazel: *.bazel *.bazelrc *.BUILD *.bzl BUILD MODULE.bazel WORKSPACE WORKSPACE.bazel
bitbake: *.bb *.bbappend *.bbclass *.conf *.inc
c: *.[chH] *.[chH].in *.cats
cabal: *.cabal
clojure: *.clj *.cljc *.cljs *.cljx
cmake: *.cmake CMakeLists.txt
coffeescript: *.coffee
config: *.cfg *.conf *.config *.ini
cpp: *.[ChH] *.cc *.[ch]pp *.[ch]xx *.hh *.inl *.[ChH].in *.cc.in *.[ch]pp.in *.[ch]xx.in *.hh.in
creole: *.creole
crystal: *.cr Projectfile *.ecr shard.yml
cs|csharp: *.cs
cshtml: *.cshtml
csproj: *.csproj
css: *.css *.scss
csv: *.csv
cuda: *.cu *.cuh
cython: *.pyx *.pxd *.pxi
d: *.d
dart: *.dart
dhall: *.dhall
diff: *.patch *.diff
docker: *Dockerfile*
dockercompose: docker-compose.yml docker-compose.*.yml
edn: *.edn
elisp: *.el
elixir: *.ex *.eex *.exs *.heex *.leex *.livemd
elm: *.elm
erb: *.erb
erlang: *.erl *.hrl
fish: *.fish
flatbuffers: *.fbs
fortran: *.f *.F *.f77 *.F77 *.pfo *.f90 *.F90 *.f95 *.F95
fsharp: *.fs *.fsx *.fsi
gn: *.gn *.gni
go: *.go
gradle: *.gradle *.gradle.kts gradle.properties gradle-wrapper.* gradlew gradlew.bat
graphql: *.graphql *.graphqls
groovy: *.groovy *.gradle
h: *.h *.hh *.hpp
haml: *.haml
hare: *.ha
haskell: *.hs *.lhs *.cpphs *.c2hs *.hsc
hbs: *.hbs
hs: *.hs *.lhs
html: *.htm *.html *.ejs
idris: *.idr *.lidr
java: *.java *.jsp *.jspx *.properties
jinja: *.j2 *.jinja *.jinja2
js|javascript: *.js *.jsx *.vue *.cjs *.mjs
json: *.json composer.lock *.sarif
jsonl: *.jsonl
jl|julia: *.jl
jupyter: *.ipynb *.jpynb
kotlin: *.kt *.kts
lean: *.lean
less: *.less
license: COPYING COPYING[.-]* COPYRIGHT COPYRIGHT[.-]* EULA EULA[.-]* licen[cs]e licen[cs]e.* LICEN[CS]E LICEN[CS]E[.-]* *[.-]LICEN[CS]E* NOTICE NOTICE[.-]* PATENTS PATENTS[.-]* UNLICEN[CS]E UNLICEN[CS]E[.-]*
lisp: *.el *.jl *.lisp *.lsp *.sc *.scm
lock: *.lock package-lock.json
log: *.log
lua: *.lua
m4: *.ac *.m4
make: [Gg][Nn][Uu]makefile [Mm]akefile [Gg][Nn][Uu]makefile.am [Mm]akefile.am [Gg][Nn][Uu]makefile.in [Mm]akefile.in Makefile.* *.mk *.mak
mako: *.mako *.mao
man: *.[0-9lnpx] *.[0-9][cEFMmpSx]
md|markdown: *.markdown *.md *.mdown *.mdwn *.mdx *.mkd *.mkdn
matlab: *.m
meson: meson.build meson_options.txt meson.options
minified: *.min.html *.min.css *.min.js
mojo: *.mojo
msbuild: *.csproj *.fsproj *.vcxproj *.proj *.props *.targets *.sln
nim: *.nim *.nimf *.nimble *.nims
nix: *.nix
objc: *.h *.m
objcpp: *.h *.mm
ml|ocaml: *.ml *.mli *.mll *.mly
org: *.org *.org_archive
pascal: *.pas *.dpr *.lpr *.pp *.inc
pdf: *.pdf
perl: *.perl *.pl *.PL *.plh *.plx *.pm *.t
php: *.php *.php3 *.php4 *.php5 *.php7 *.php8 *.pht *.phtml
po: *.po
pod: *.pod
prolog: *.pl *.pro *.prolog *.P
protobuf|proto: *.proto
ps|powershell: *.cdxml *.ps1 *.ps1xml *.psd1 *.psm1
puppet: *.epp *.erb *.pp *.rb
purs: *.purs
py|python: *.py *.pyi
qml: *.qml
r: *.R *.r *.Rmd *.rmd *.Rnw *.rnw
racket: *.rkt
raku: *.raku *.rakumod *.rakudoc *.rakutest *.p6 *.pl6 *.pm6
readme: README* *README
reasonml: *.re *.rei
rescript: *.res *.resi
robot: *.robot
rst: *.rst
ruby: config.ru Gemfile .irbrc Rakefile *.gemspec *.rb *.rbw
rust: *.rs
sass: *.sass *.scss
scala: *.scala *.sbt
sh|shell|bash: .bash_login .bash_logout .bash_profile .bashrc .cshrc .kshrc .login .logout .profile .tcshrc .zlogin .zlogout .zprofile .zshenv .zshrc bash_login bash_logout bash_profile bashrc profile zlogin zlogout zprofile zshenv zshrc *.bash *.bashrc *.csh *.cshrc *.ksh *.kshrc *.sh *.tcsh *.zsh
slim: *.skim *.slim *.slime
smarty: *.tpl
sml: *.sml *.sig
solidity: *.sol
spec: *.spec
sql: *.sql *.psql
stylus: *.styl
sv: *.v *.vg *.sv *.svh *.h
svelte: *.svelte *.svelte.ts
svg: *.svg
swift: *.swift
swig: *.def *.i
systemd: *.automount *.conf *.device *.link *.mount *.path *.scope *.service *.slice *.socket *.swap *.target *.timer
tcl: *.tcl
tex: *.tex *.ltx *.cls *.sty *.bib *.dtx *.ins
texinfo: *.texi
textile: *.textile
tf|terraform: *.tf *.tf.json *.tfvars *.tfvars.json *.terraformrc terraform.rc *.tfrc
thrift: *.thrift
toml: *.toml Cargo.lock
ts|typescript: *.ts *.tsx *.cts *.mts
twig: *.twig
txt: *.txt
typst: *.typ
vala: *.vala
vb: *.vb
verilog: *.v *.vh *.sv *.svh
vhdl: *.vhd *.vhdl
vim|vimscript: *.vim .vimrc .gvimrc vimrc gvimrc _vimrc _gvimrc
vue: *.vue
webidl: *.idl *.webidl *.widl
wgsl: *.wgsl
wiki: *.mediawiki *.wiki
xml: *.xml *.xml.dist *.dtd *.xsl *.xslt *.xsd *.xjb *.rng *.sch *.xhtml
yacc: *.y
yaml: *.yaml *.yml
yang: *.yang
zig: *.zig
zsh: .zshenv .zlogin .zlogout .zprofile .zshrc zlogin zlogout zprofile zshenv zshrc *.zsh
`
