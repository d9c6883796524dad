package permission

import "testing"

func TestRulePath(t *testing.T) {
	dirs := Dirs{Cwd: "/home/dev/app/sub", Project: "/home/dev/app", Home: "/home/dev"}
	for rule, want := range map[string]string{
		"Read(.env)": "/home/dev/app/sub/**/.env", "Read(./.env)": "/home/dev/app/sub/.env", "Edit(src/**)": "/home/dev/app/sub/src/**",
		"Read(~/vault/)": "/home/dev/vault", "Read(//etc/shadow)": "/etc/shadow", "Edit(/docs/**)": "/home/dev/app/docs/**",
		"Bash(ls)": "", "Read": "",
	} {
		got, ok := RulePath(Rule{List: DenyList, Text: rule, Source: FromProject, Base: "/home/dev/app"}, dirs)
		if got != want || ok != (want != "") {
			t.Errorf("%s: %q, %v, want %q", rule, got, ok, want)
		}
	}
}
