package cmdline

import "strings"

// FindTest tells the predicates of find that only look. The number is how many words they take.
func FindTest(name string) (int, bool) {
	switch name {
	case "-a", "-and", "-o", "-or", "-not", "-depth", "-d", "-daystart", "-mount", "-xdev", "-noleaf", "-warn", "-nowarn",
		"-ignore_readdir_race", "-noignore_readdir_race", "-empty", "-executable", "-readable", "-writable", "-nouser", "-nogroup",
		"-true", "-false", "-print", "-print0", "-ls", "-prune", "-quit", "-help", "--help", "-version", "--version",
		"-sparse", "-E", "-X", "-H", "-P", "!", "(", ")", ",":
		return 0, true
	case "-name", "-iname", "-path", "-ipath", "-wholename", "-iwholename", "-regex", "-iregex", "-lname", "-ilname",
		"-type", "-xtype", "-size", "-mtime", "-atime", "-ctime", "-mmin", "-amin", "-cmin", "-perm", "-user", "-group",
		"-uid", "-gid", "-links", "-inum", "-maxdepth", "-mindepth", "-regextype", "-fstype", "-used", "-context", "-printf",
		"-newer", "-anewer", "-cnewer", "-samefile", "-D":
		return 1, true
	}
	if strings.HasPrefix(name, "-newer") && len(name) == len("-newerXY") {
		return 1, true
	}
	if strings.HasPrefix(name, "-O") && len(name) == 3 {
		return 0, true
	}
	return 0, false
}

// NamesProgram tells the settings of git whose value may be a command.
func NamesProgram(setting string) bool {
	for _, part := range []string{"alias.", "pager", "editor", "command", "cmd", "fsmonitor", "program", "helper", "askpass", "driver", "textconv", "external", "clean", "smudge", "process", "proxy", "uploadpack", "receivepack", "hook", "diff.", "merge.", "sendemail.", "web"} {
		if strings.Contains(setting, part) {
			return true
		}
	}
	return false
}

// LocalPath tells a word that git takes for a folder rather than for an address or the name of a remote.
func LocalPath(v string) bool {
	if strings.HasPrefix(v, "/") || strings.HasPrefix(v, ".") || strings.HasPrefix(v, "~") || strings.HasPrefix(v, "file:") {
		return true
	}
	slash := strings.IndexByte(v, '/')
	colon := strings.IndexByte(v, ':')
	return slash > 0 && (colon < 0 || slash < colon) || colon < 0 && strings.HasSuffix(v, ".git")
}

// HarmlessLinking tells linker flags that only leave things out or set texts.
func HarmlessLinking(flags string) bool {
	f := strings.Fields(strings.NewReplacer("'", "", `"`, "").Replace(flags))
	for i := 0; i < len(f); i++ {
		switch {
		case f[i] == "-s", f[i] == "-w", strings.HasPrefix(f[i], "-X="):
		case f[i] == "-X" && i+1 < len(f) && !strings.HasPrefix(f[i+1], "-"):
			i++
		default:
			return false
		}
	}
	return true
}

// RemoteModule tells whether a package path names a module that would be fetched.
func RemoteModule(p string) bool {
	head, _, ok := strings.Cut(p, "/")
	return ok && head != "." && head != ".." && strings.Contains(head, ".")
}
