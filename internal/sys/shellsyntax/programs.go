package shellsyntax

import (
	"strings"
)

// special adds what a few programs do beyond their options.
func (d *describer) special() {
	ops := d.a.operands
	word := func(k int) string {
		if k < len(ops) && d.words[ops[k]].Static() {
			return d.words[ops[k]].Value
		}
		return ""
	}
	switch d.name {
	case "go":
		switch {
		case word(0) == "generate":
			d.runsProgram("generate runs the programs named in the sources")
		case word(0) == "env" && d.hasOption("-w", "-u"):
			d.runsProgram("env -w changes which programs go runs")
		case word(0) == "run" && (strings.Contains(word(1), "@") || remoteModule(word(1))):
			d.runsProgram("run fetches and runs a program")
		}
	case "npm", "pnpm", "yarn", "bun":
		if word(0) == "set" || ((word(0) == "config" || word(0) == "c") && word(1) != "get" && word(1) != "list" && word(1) != "ls") {
			d.runsProgram("config changes which programs are run")
		}
	case "make", "gmake":
		d.make()
	case "zip":
		for i := d.at + 1; i < len(d.words); i++ {
			if strings.Contains(d.words[i].Value, "TT") && strings.HasPrefix(d.words[i].Value, "-") && !strings.HasPrefix(d.words[i].Value, "--") {
				d.runsProgram("-TT runs a program")
			}
		}
	case "ssh", "autossh", "scp", "sftp":
		d.sshOptions()
	case "mysql", "mariadb", "psql", "sqlite3":
		d.sql()
	case "docker", "podman", "nerdctl":
		d.docker(ops)
	case "less", "more":
		d.runsProgram("can start a shell, and programs named in the environment")
	case "vim", "vi", "nvim", "ex", "gvim", "rvim", "view":
		for _, i := range ops {
			if v := d.words[i].Value; len(v) > 1 && v[0] == '+' && !isNumber(v[1:]) {
				d.runsProgram("is given a command to run")
			}
		}
	case "crontab", "at", "batch", "systemd-run":
		d.runsProgram("runs something later")
	case "tput":
		if v := word(0); v == "init" || v == "reset" || v == "rs1" || v == "rs2" || v == "rs3" || v == "is1" || v == "iprog" || len(ops) == 0 {
			d.not("tput " + v + " may run a program of the terminal description")
		}
	case "xxd":
		d.not("xxd may write")
	case "pip", "pip3", "cargo", "terraform", "tofu", "kubectl", "oc", "helm", "gh":
		// their options are known, what they do is not
	}
	if d.spec.operands == "-schedule" {
		d.runsProgram("runs something later")
	}
}

// remoteModule tells whether a package path names a module that would be fetched.
func remoteModule(p string) bool {
	head, _, ok := strings.Cut(p, "/")
	return ok && head != "." && head != ".." && strings.Contains(head, ".")
}

func (d *describer) make() {
	for _, i := range d.a.operands {
		name, _, ok := strings.Cut(d.words[i].Value, "=")
		if !ok {
			continue
		}
		switch strings.TrimRight(name, ":?+! ") {
		case "SHELL", ".SHELLFLAGS", "MAKEFLAGS", "GNUMAKEFLAGS", "MAKEFILES", "MAKE":
			d.runsProgram(name + "= names a program")
		default:
			if strings.Contains(d.words[i].Value, "$(") || strings.Contains(d.words[i].Value, "${") {
				d.runsProgram(name + "= is expanded by make, which may run a program")
			}
		}
	}
}

func (d *describer) sshOptions() {
	for _, o := range d.a.options {
		if o.opt.role != script {
			continue
		}
		key := strings.ToLower(strings.TrimSpace(o.value))
		if i := strings.IndexAny(key, "= \t"); i >= 0 {
			key = key[:i]
		}
		switch key {
		case "proxycommand", "localcommand", "permitlocalcommand", "knownhostscommand", "include", "match",
			"pkcs11provider", "securitykeyprovider", "xauthlocation", "proxyjump", "identityagent", "controlpath", "controlmaster":
			d.runsProgram("-o " + key + " runs a local program")
		case "":
			d.runsProgram("-o takes an option that is not known")
		}
	}
}

func (d *describer) sql() {
	texts := []string{}
	for _, o := range d.a.options {
		if o.opt.role == script {
			texts = append(texts, o.value)
		}
	}
	if d.name == "sqlite3" {
		for _, i := range d.a.operands[min(1, len(d.a.operands)):] {
			texts = append(texts, d.words[i].Value)
		}
		if len(d.a.operands) > 0 {
			d.operand(d.a.operands[0], Write)
		}
	}
	for _, t := range texts {
		low := strings.ToLower(t)
		for line := range strings.SplitSeq(low, "\n") {
			line = strings.TrimSpace(line)
			if d.name == "sqlite3" && strings.HasPrefix(line, ".") || strings.HasPrefix(line, "system") || strings.HasPrefix(line, "source") {
				d.runsProgram("is given a command of its own shell")
			}
		}
		for _, bad := range []string{`\!`, `\.`, `\o`, `\w`, `\i`, `\copy`, "load_extension", "edit(", "writefile(", "readfile(", "program "} {
			if strings.Contains(low, bad) {
				d.runsProgram("is given text that may run a program")
			}
		}
	}
}

func (d *describer) docker(ops []int) {
	d.not(d.name + " does more than read")
	if len(ops) == 0 || len(d.p.Exec) > 0 || d.a.maybe || ops[0] != d.at+1 {
		return // an option before the subcommand may choose another daemon
	}
	switch d.words[ops[0]].Value {
	case "ps", "images", "inspect", "version":
		d.notRO = ""
	case "logs":
		d.notRO = ""
	}
	for _, i := range ops {
		if !d.words[i].Static() {
			d.not("a word is only known at run time")
		}
	}
}
