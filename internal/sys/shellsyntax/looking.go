package shellsyntax

import (
	"slices"
	"strings"

	"github.com/myelin-agent/myelin/internal/sys/shellsyntax/expand"
)

// looking settles the programs of which only some forms look and change nothing. The table says which options are harmless; this is
// about their operands.
func (d *describer) looking() {
	ops := d.a.Operands
	switch d.spec.Operands {
	case "0":
		if len(ops) > 0 {
			d.not(d.name + " is given an operand")
		}
	case "date":
		for _, i := range ops {
			if !strings.HasPrefix(d.words[i].Value, "+") {
				d.not("date may set the clock")
			}
		}
	case "ps":
		d.processes()
	case "strings":
		d.each(ops, Read)
		for _, i := range ops {
			if strings.HasPrefix(d.words[i].Value, "@") {
				d.not("strings reads options from a file")
			}
		}
	case "hash":
		if len(ops) > 0 && !d.hasOption("-t") {
			d.not("hash remembers where a program lies")
		}
	}
	switch d.name {
	case "tee":
		d.looks = !d.wrote() && len(d.a.Options) == 0
	case "tar", "bsdtar", "gtar":
		d.looks = d.lists()
	case "unzip":
		if !d.hasOption("-l", "-v", "-Z", "-t") || len(ops) > 1 && d.hasOption("-x", "-d") {
			d.not("unzip unpacks")
		}
	case "kubectl", "oc":
		if d.a.Sub == "version" && !d.hasOption("--client") {
			d.not("it asks the server")
		}
		d.p.Tool = d.name
	}
	if d.tellsVersion() {
		d.looks, d.p.Tool = true, d.name
	}
	switch d.name {
	case "go", "npm", "pip", "pip3":
		d.p.Tool = d.name
	}
}

// wrote tells whether the part writes a file.
func (d *describer) wrote() bool {
	return slices.ContainsFunc(d.p.Uses, func(u PathUse) bool { return u.Intent == Write || u.Intent == Delete })
}

// lists tells a tar command that prints the names in an archive. A colon in the archive's name would start a remote shell.
func (d *describer) lists() bool {
	lists := false
	archive := false
	for _, o := range d.a.Options {
		switch o.Name {
		case "-t", "--list":
			lists = true
		case "-f", "--file":
			archive = true
			if strings.Contains(o.Value, ":") || isInput(o.Value) || !d.words[o.Word].Static() {
				return false
			}
		case "-v", "-z", "-j", "-J", "--verbose", "--gzip", "--bzip2", "--xz", "--zstd", "-a", "--auto-compress":
		default:
			return false
		}
	}
	return lists && archive && len(d.p.Exec) == 0
}

// processes keeps ps from printing the environment: the letter e without a dash, and the column of that name.
func (d *describer) processes() {
	for _, o := range d.a.Options {
		if strings.Contains(strings.ToLower(o.Value), "env") {
			d.not("ps may print the environment")
		}
	}
	for k := 0; k < len(d.a.Operands); k++ {
		v := d.words[d.a.Operands[k]].Value
		switch {
		case expand.IsNumber(v):
		case strings.Trim(v, "aAcfghHjlmnrsSTuvwxX") == "":
		case strings.Trim(v, "aAcfghHjlmnrsSTuvwxXo") == "" && strings.HasSuffix(v, "o") && k+1 < len(d.a.Operands):
			k++
			if strings.Contains(strings.ToLower(d.words[d.a.Operands[k]].Value), "env") {
				d.not("ps may print the environment")
			}
		default:
			d.not("ps may print the environment")
		}
	}
}

// tellsVersion tells a well-known tool that is asked for its version and for nothing else.
func (d *describer) tellsVersion() bool {
	if len(d.words) != d.at+2 || !d.words[d.at+1].Static() {
		return false
	}
	var forms []string
	switch d.name {
	case "node", "npm", "ruby", "gcc", "make", "docker":
		forms = []string{"--version"}
	case "python3", "cargo", "rustc":
		forms = []string{"--version", "-V"}
	case "java":
		forms = []string{"--version", "-version"}
	case "go":
		forms = []string{"version"}
	case "gh":
		forms = []string{"--version", "version"}
	case "terraform":
		forms = []string{"--version", "-version", "version"}
	}
	return slices.Contains(forms, d.words[d.at+1].Value)
}
