package permission

import (
	"errors"
	"io/fs"
	"path"
	"testing"
	"testing/fstest"

	"github.com/myelin-agent/myelin/internal/core/tool"
)

type outcome struct {
	command string
	want    Behavior
}

func checkDecided(t *testing.T, pol Policy, tests []outcome) {
	t.Helper()
	for _, tt := range tests {
		if got := decideShell(tt.command, pol); got.Behavior != tt.want {
			t.Errorf("%s: %s (%s), want %s", tt.command, got.Behavior, got.Reason.Text, tt.want)
		}
	}
}

func TestKF120_FilesNamedByAFile(t *testing.T) {
	secrets := plainPolicy(Rule{List: DenyList, Text: "Read(/secrets/**)"})
	checkDecided(t, plainPolicy(), []outcome{
		{"sort --files0-from=list", Ask},
		{"sort --files0-fr list", Ask},
		{"wc --files0-from=-", Ask},
		{"du --files0-from list", Ask},
		{"find . -files0-from list", Ask},
		{"file -f list", Ask},
		{"git log -p", Allow}, // nothing is denied
		{"git grep x", Allow},
	})
	checkDecided(t, secrets, []outcome{
		{"git grep KEY", Ask},
		{"git log -p", Ask},
		{"git log -U3 main..", Ask},
		{"git log --patch-with-stat", Ask},
		{"git log -L1,5:src/a.go", Ask},
		{"git log --oneline", Allow},
		{"git log --stat", Allow},
		{"git show", Ask},
		{"git show HEAD --stat", Allow},
		{"git show HEAD:src/a.go", Allow},
		{"git show HEAD:secrets/key", Deny},
		{"git diff", Ask},
		{"git diff --cached", Ask},
		{"git diff --name-only", Allow},
		{"git diff -- src", Allow},
		{"git diff -- .", Ask},
		{"git diff -- src secrets", Ask},
		{"git diff -- ':!secrets'", Ask}, // what git leaves out is not followed
		{"git stash show -p", Ask},
		{"git stash show", Allow},
		{"git diff-tree -p HEAD", Ask},
		{"git cat-file --batch", Ask},
		{"git cat-file -t HEAD", Allow},
		{"ls | xargs cat", Ask},
		{"xargs -a list cat", Ask},
		{"tar cf x.tar -T list", Ask},
		{"rsync --files-from=list a h:", Ask},
	})
	elsewhere := plainPolicy(Rule{List: DenyList, Text: "Read(~/.ssh/**)"})
	checkDecided(t, elsewhere, []outcome{{"git diff", Allow}, {"git log -p", Allow}, {"git grep x", Allow}})
}

func TestKF141_FixedTextIsNoProgram(t *testing.T) {
	pol := plainPolicy(Rule{List: AllowList, Text: "Bash(gh issue *)"}, Rule{List: AllowList, Text: "Bash(git commit *)"}, Rule{List: DenyList, Text: "Bash(rm *)"})
	checkDecided(t, pol, []outcome{
		{"gh issue create --body \"$(cat <<'EOF'\n- a `b` $(rm x) /etc\nEOF\n)\"", Allow},
		{"gh issue create --title x --body \"$(cat <<\\EOF\n$x\nEOF\n)\"", Allow},
		{"git commit -m \"$(cat <<'EOF'\nfix: $(rm x)\nEOF\n)\"", Allow},
		{"gh issue create --body \"$(cat <<EOF\n$(rm x)\nEOF\n)\"", Deny},
		{"gh issue create --body \"$(cat <<EOF\n$(./x)\nEOF\n)\"", Ask},
		{"gh issue create --body \"$(cat <<'EOF' | sh\nrm x\nEOF\n)\"", Deny},
		{"gh issue create $(cat <<'EOF'\n--repo x\nEOF\n)", Ask}, // becomes words
		{"cat() { sh; }; gh issue create --body \"$(cat <<'EOF'\nx\nEOF\n)\"", Ask},
		{"\"$(cat <<'EOF'\nrm\nEOF\n)\" x", Deny},
	})
}

func TestKF144_NothingButExactRulesLeavesTheSandbox(t *testing.T) {
	leave := func(command string, mode Mode, rules ...Rule) Behavior {
		pol := plainPolicy(rules...)
		pol.Mode, pol.Sandbox = mode, Sandbox{Enabled: true}
		return Decide(Request{Tool: "Bash", Literal: []byte(`{"dangerouslyDisableSandbox":true}`), Traits: tool.Traits{Command: command, Shell: true}}, pol).Behavior
	}
	for _, c := range []string{"ls", "cat f", "git status", "true", "A=b", "echo hi > out.txt", "mkdir x", "date"} {
		for _, m := range []Mode{Default, AcceptEdits} {
			if got := leave(c, m); got != Ask {
				t.Errorf("%s in %s: %s", c, m, got)
			}
		}
		if got := leave(c, DontAsk); got != Deny {
			t.Errorf("%s in dontAsk: %s", c, got)
		}
	}
	if got := leave("npm test x", Default, Rule{List: AllowList, Text: "Bash(npm test *)"}); got != Ask {
		t.Errorf("a wildcard let it out: %s", got)
	}
	if got := leave("npm test && ls", Default, Rule{List: AllowList, Text: "Bash(npm test)"}); got != Ask {
		t.Errorf("the other part was not named: %s", got)
	}
	for _, rule := range []string{"Bash(npm test)", "Bash"} {
		if got := leave("npm test", Default, Rule{List: AllowList, Text: rule}); got != Allow {
			t.Errorf("%s does not hold: %s", rule, got)
		}
	}
	if got := leave("ls", Plan); got != Allow {
		t.Errorf("plan mode keeps it inside: %s", got)
	}
}

func TestKF162_ToolsOfTheProjectAreNoTools(t *testing.T) {
	pol := plainPolicy()
	pol.Files.Locate = func(program string) string { return "/home/dev/app/node_modules/.bin/" + program }
	checkDecided(t, pol, []outcome{{"node --version", Ask}, {"npm ls", Ask}, {"go version", Ask}, {"pip list", Ask}, {"ls", Allow}})
	pol = plainPolicy()
	pol.Files.Exists = func(p string) bool { return p == "/home/dev/rust-toolchain.toml" }
	checkDecided(t, pol, []outcome{{"cargo --version", Ask}, {"rustc --version", Ask}, {"node --version", Allow}})
	pol.Files.Exists = func(string) bool { return false }
	checkDecided(t, pol, []outcome{{"cargo --version", Allow}, {"rustc -V", Allow}, {"cargo build", Ask}})
	pol.Files = Files{}
	checkDecided(t, pol, []outcome{{"node --version", Ask}, {"cargo --version", Ask}})
}

func TestKF150_CopiesOfTreesAreListed(t *testing.T) {
	tree := fstest.MapFS{
		"home/dev/app/src/a.go": {}, "home/dev/app/src/sub/b.go": {},
		"home/dev/app/evil/.git/hooks/pre-commit": {}, "home/dev/app/deep/x/.vscode/tasks.json": {}, "home/dev/app/f": {},
	}
	for i := range 1200 {
		tree[path.Join("home/dev/app/many", string(rune('a'+i%26)), string(rune('a'+i/26%26))+string(rune('a'+i/676)))] = &fstest.MapFile{}
	}
	pol := plainPolicy()
	pol.Mode = AcceptEdits
	pol.Files.Exists = func(p string) bool { _, err := fs.Stat(tree, p[1:]); return err == nil }
	pol.Files.List = func(dir string) ([]fs.DirEntry, error) { return fs.ReadDir(tree, dir[1:]) }
	tests := []outcome{
		{"cp -r src copy", Allow},
		{"cp -r evil copy", Ask},
		{"cp -a evil/. .", Ask},
		{"cp -R deep copy", Ask},
		{"cp --recursive many copy", Ask},
		{"cp -r f copy", Allow},
		{"cp f copy", Allow},
		{"cp -r s* copy", Ask},
	}
	checkDecided(t, pol, tests)
	pol.Mode = Default
	pol.Rules = Compile([]Rule{{List: AllowList, Text: "Bash(cp *)"}}, Env{Dirs: pol.Dirs})
	checkDecided(t, pol, tests)
	pol.Files.List = func(string) ([]fs.DirEntry, error) { return nil, errors.New("gone") }
	checkDecided(t, pol, []outcome{{"cp -r src copy", Ask}})
}

func TestKF150_OwnTemporaryFolderIsNoOutside(t *testing.T) {
	pol := plainPolicy(Rule{List: AllowList, Text: "Bash(mytool *)"})
	pol.Dirs.Temp = "/tmp/own/s1"
	checkDecided(t, pol, []outcome{
		{"mytool --out=/tmp/own/s1/x", Allow}, {"mytool /tmp/own/s2/x", Ask}, {"mytool /tmp/own/s1/../s2", Ask}, {"mytool /tmp", Ask},
	})
}

func TestKF120_WordsOfProgramsThatRunOthers(t *testing.T) {
	pol := plainPolicy(Rule{List: AllowList, Text: "Bash"}, Rule{List: DenyList, Text: "Read(/secrets/**)"}, Rule{List: DenyList, Text: "Read(.env)"})
	for _, c := range []string{
		"dotenv -f .env run x", "dotenv -e .env -- ls", "env-cmd -f .env ls", "op run --env-file=.env -- ls", "dotenvx run -f .env -- ls", "uv run --env-file .env ls",
		"uv run --env-file=.env ls", "flock .env cat", "flock secrets/key echo x", "strace -o .env ls", "kubectl run x --image=i --env-file .env -- ls",
		"docker run -v ./.env:/e i", "docker run --volume=./secrets/x:/e i", "docker run -v .env:/e i", "podman run -v ./secrets/key:/x i ls", "watchexec -w .env ls", "sops exec-env secrets/key ls",
	} {
		if d := decideShell(c, pol); d.Behavior == Allow {
			t.Errorf("%s: allowed: %s", c, d.Reason.Text)
		}
	}
	for _, c := range []string{"dotenv -f x.conf -- ls", "uv run pytest", "flock lock echo .env", "docker run -v ./data:/data i", "timeout 5 grep .env f"} {
		if d := decideShell(c, pol); d.Behavior != Allow {
			t.Errorf("%s: %s: %s", c, d.Behavior, d.Reason.Text)
		}
	}
}

func TestKF122_OptionsBeforeTheSubcommand(t *testing.T) {
	pol := plainPolicy(Rule{List: AllowList, Text: "Bash"}, Rule{List: DenyList, Text: "Bash(npm publish *)"}, Rule{List: DenyList, Text: "Bash(docker rm *)"}, Rule{List: DenyList, Text: "Bash(kubectl delete *)"})
	for _, c := range []string{"npm --silent publish", "npm -s --tag next publish", "docker --debug rm x", "docker -l debug rm x", "kubectl -n delete delete pod x", "kubectl --namespace=x delete pod y", "env npm --silent publish"} {
		if d := decideShell(c, pol); d.Behavior != Deny {
			t.Errorf("%s: %s: %s", c, d.Behavior, d.Reason.Text)
		}
	}
	for _, c := range []string{"npm --silent test", "docker --debug ps", "kubectl -n delete get pods"} {
		if d := decideShell(c, pol); d.Behavior != Allow {
			t.Errorf("%s: %s: %s", c, d.Behavior, d.Reason.Text)
		}
	}
}

func TestKF120_MountsAreReadAndWritten(t *testing.T) {
	pol := plainPolicy(Rule{List: AllowList, Text: "Bash"}, Rule{List: DenyList, Text: "Read(/secrets/**)"}, Rule{List: DenyList, Text: "Edit(/kept/**)"}, Rule{List: DenyList, Text: "Read(.env)"})
	for _, c := range []string{
		"docker run --volume=./secrets:/e img", "docker run -v ./secrets:/e img", "docker run -v=./secrets:/e img", "docker run -v./secrets:/e img cat /e/x", "docker run -v secrets/:/e img",
		"docker run -v $PWD/secrets:/e img", "docker run -v $PWD:/e img", `docker run -v "$(pwd):/e" img`, "docker run -v .:/e img ls", "docker run --mount type=bind,src=./secrets,dst=/e img",
		"docker run --mount=type=bind,target=/e,source=secrets img", "docker --context x run -v ./secrets:/e img", "docker container run -v ./secrets:/e img", "docker create -v ./secrets:/e img",
		"docker compose run -v ./secrets:/e svc", "podman run -v ./secrets:/e:ro img", "nerdctl run -v ./secrets:/e img", "docker run -v ./kept:/e img", "docker run -v .:/e:ro img", "docker run -v ./.env:/e img",
		"docker build --secret id=x,src=./secrets/k .", "docker build --build-context x=./secrets .", "bwrap --bind ./secrets /x ls", "apptainer exec -B ./secrets:/e img ls", "mount --bind ./secrets /x",
		"mytool ./secrets", "mytool --dir=secrets", "sudo docker run -v ./secrets:/e img",
	} {
		if d := decideShell(c, pol); d.Behavior == Allow {
			t.Errorf("%s: allowed: %s", c, d.Reason.Text)
		}
	}
	for _, c := range []string{
		"docker run -v ./kept:/e:ro img", "docker run -v ./data:/e img", "docker run -v data:/e img", "docker run -v secrets:/e img", "docker run --mount type=volume,src=secrets,dst=/e img", "docker run --rm img ls", "mytool ./data",
	} {
		if d := decideShell(c, pol); d.Behavior != Allow {
			t.Errorf("%s: %s: %s", c, d.Behavior, d.Reason.Text)
		}
	}
	checkDecided(t, plainPolicy(Rule{List: AllowList, Text: "Bash(docker run *)"}), []outcome{
		{"docker run -v $PWD:/e img", Allow}, {"docker run -v ./data:/e img pytest", Allow}, {"docker run -v /etc:/e img", Ask}, {"docker run -v ~/.ssh:/e img", Ask},
	})
}

func TestKF150_OptionsCountAsWhatTheyDo(t *testing.T) {
	checkDecided(t, plainPolicy(Rule{List: AllowList, Text: "Bash(curl *)"}, Rule{List: AllowList, Text: "Bash(gh *)"}, Rule{List: AllowList, Text: "Bash(kubectl *)"}), []outcome{
		{"curl --proto-default=file etc/x", Ask},
		{"curl --proto-default FILE /etc/passwd", Ask},
		{"curl --proto-def file x", Ask},
		{"curl --proto-default \"$P\" x", Ask},
		{"curl --proto-default https x.test", Allow},
		{"curl x.test", Allow},
		{"gh pr create --template /etc/x", Ask},
		{"gh pr create -T /etc/x", Ask},
		{"gh issue create --template=../x", Ask},
		{"gh pr create --template bug.md", Allow},
		{"gh pr list --json x --template '{{/etc}}'", Allow},
		{"gh api --jq env", Ask},
		{"gh api x -q 'env.TOKEN'", Ask},
		{"gh api x -q '$ENV.TOKEN'", Ask},
		{"gh pr view --json x --jq 'env|tostring'", Ask},
		{"gh run list --json a --jq 'map(env)'", Ask},
		{"gh api x --jq '.[] | .name'", Allow},
		{"gh pr view --json x -q .x", Allow},
		{"kubectl get pods -o go-template-file=/etc/x", Ask},
		{"kubectl get pods -o jsonpath='{.items}'", Allow},
		{"kubectl get pods -o custom-columns-file=cols.txt", Allow},
	})
	checkDecided(t, plainPolicy(Rule{List: AllowList, Text: "Bash"}, Rule{List: DenyList, Text: "Read(/secrets/**)"}), []outcome{
		{"curl --proto-default=file secrets/x", Deny}, {"gh pr create --template secrets/x", Deny}, {"kubectl get pods -o go-template-file=secrets/x", Deny}, {"kubectl get pods --output=jsonpath-file=secrets/x", Deny},
	})
}
