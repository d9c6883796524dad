package permission

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/myelin-agent/myelin/internal/core/tool"
)

// fataler is what tests and property tests share.
type fataler interface {
	Helper()
	Fatal(args ...any)
}

// decideLine decides a command in the standard project. Rules are "+allow", "-deny", "?ask".
func decideLine(tb fataler, mode Mode, rules []string, command string, change ...func(*Request, *Policy)) Decision {
	tb.Helper()
	dirs := Dirs{Cwd: "/home/dev/app", Project: "/home/dev/app", Home: "/home/dev"}
	var list []Rule
	for _, r := range rules {
		l := map[byte]List{'+': AllowList, '-': DenyList, '?': AskList}[r[0]]
		list = append(list, Rule{List: l, Text: r[1:], Source: FromProject, Base: dirs.Project})
	}
	input, err := json.Marshal(map[string]any{"command": command})
	if err != nil {
		tb.Fatal(err)
	}
	req := Request{Tool: "Bash", Literal: input, Traits: tool.Traits{Command: command, Shell: true}}
	pol := Policy{Mode: mode, Dirs: dirs, Rules: Compile(list, Env{Dirs: dirs})}
	for _, c := range change {
		c(&req, &pol)
	}
	return Decide(req, pol)
}

// TestEveryParagraph goes through the kinds of cases of the rules for shell commands. A line is
// "expected | mode | rules | command"; rules are separated by " ; ". "\n" in a command is a line end.
func TestEveryParagraph(t *testing.T) {
	for line := range strings.SplitSeq(paragraphs, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "##") {
			continue
		}
		f := strings.SplitN(line, " | ", 4)
		if len(f) != 4 {
			t.Fatalf("bad line %q", line)
		}
		mode := map[string]Mode{"d": Default, "e": AcceptEdits, "p": Plan, "n": DontAsk, "b": Bypass, "a": Auto}[strings.TrimSpace(f[1])]
		var rules []string
		for r := range strings.SplitSeq(f[2], " ; ") {
			if r = strings.TrimSpace(r); r != "" {
				rules = append(rules, r)
			}
		}
		command := strings.NewReplacer(`\n`, "\n", `\u00a0`, "\u00a0").Replace(f[3])
		d := decideLine(t, mode, rules, command)
		if want := Behavior(strings.TrimSpace(f[0])); d.Behavior != want {
			t.Errorf("%s\n\tgot %s: %s", line, d.Behavior, d.Reason.Text)
		}
	}
}

const paragraphs = `
## read-only set: options by list, abbreviations, clusters, values
allow | d |  | ls -lah --color=auto src
allow | d |  | grep -rn --include='*.go' TODO .
allow | d |  | grep -A3 -B 2 -e foo -e bar README.md
ask | d |  | grep -rnf /etc/passwd .
ask | d |  | grep --file=/etc/passwd x
ask | d |  | grep --fil /etc/passwd x
allow | d |  | rg -n -g '*.go' --type go foo src
ask | d |  | rg --search-zip foo
ask | d |  | rg -nz foo
ask | d |  | rg --follow foo
ask | d |  | rg --made-up foo
allow | d |  | fd -e go foo
ask | d |  | fd -l foo
ask | d |  | fd -HX rm foo
allow | d |  | find . -type f -name '*.go' -maxdepth 3
allow | d |  | find . \( -name a -o -name b \) -print
ask | d |  | find . -fprintf out %p
ask | d |  | find / -name x
ask | d |  | find . -made-up
allow | d |  | sort -k2 -n -u a.txt
ask | d |  | sort -uo a.txt b.txt
ask | d |  | sort -ob.txt a.txt
ask | d |  | sort --files0-from=/etc/x
allow | d |  | head -20 a.txt
allow | d |  | tail -f a.log
allow | d |  | wc -l a.txt b.txt
ask | d |  | wc --files0-from=/tmp/l
allow | d |  | diff -u a b
ask | d |  | diff -u a /etc/passwd
allow | d |  | du -sh src
ask | d |  | uniq a b
allow | d |  | uniq -c a
allow | d |  | stat -c %s a
ask | d |  | file -f list
ask | d |  | file --magic-file=x a
ask | d |  | file -bz a
allow | d |  | file -b a
ask | d |  | ss -K
allow | d |  | ss -tlnp
ask | d |  | printf -v x y
allow | d |  | printf '%s\n' a
allow | d |  | [ -f go.mod ]
ask | d |  | [ -v 'a[0]' ]
allow | d |  | command -v go
ask | d |  | env
ask | d |  | set
ask | d |  | export -p
ask | d |  | printenv
ask | d |  | history -w
allow | d |  | date
ask | d |  | cat $HOME/x
ask | d |  | echo $(( 1 + x ))
ask | d |  | /bin/ls
allow | d |  | builtin echo hi
allow | d |  | timeout 5 ls
ask | d |  | xargs cat
ask | d |  | docker run alpine true
ask | d |  | docker exec c ls
allow | d |  | docker logs c
allow | d |  | docker images -a
ask | d |  | docker rm c
## read-only git
allow | d |  | git log -p --stat -n 5 -- src
allow | d |  | git diff HEAD~1 -- a.go
allow | d |  | git show HEAD:go.mod
allow | d |  | git blame -L 1,5 a.go
allow | d |  | git rev-parse --show-toplevel
allow | d |  | git ls-files -m
allow | d |  | git --no-pager log
allow | d |  | git branch -a -v
allow | d |  | git branch --list 'x*'
allow | d |  | git tag -l
allow | d |  | git worktree list
allow | d |  | git config --list
ask | d |  | git config --get-all x --unset y
allow | d |  | git stash list
ask | d |  | git stash pop
ask | d |  | git tag v1
ask | d |  | git branch -m a b
ask | d |  | git branch --set-upstream-to=x
ask | d |  | git remote set-url o x
ask | d |  | git worktree add x
ask | d |  | git reflog expire --all
ask | d |  | git diff --output=x
ask | d |  | git log --made-up
ask | d |  | git grep --open-files-in-pager=x y
ask | d |  | git grep -Ox y
ask | d |  | git -C .. log
ask | d |  | git --git-dir=x log
ask | d |  | git diff --no-index a /etc/passwd
ask | d |  | git fetch
ask | d |  | git cat-file --textconv HEAD:x
## rules: wildcards, word boundaries, colons, quotes
allow | d | +Bash(echo hello*) | echo "hello world"
allow | d | +Bash(curl https://api.test/*) | curl "https://api.test/x?q=1&r=2"
deny | d | -Bash(curl http://evil*) | curl "http://evil.test/?x=1"
deny | d | -Bash(git push:*) | git push
deny | d | -Bash(git push:*) | git push origin
ask | d | +Bash(git push:*) | git pusher
allow | d | +Bash(npm run "a b") | npm run 'a b'
ask | d | +Bash(npm run "a b") | npm run a b
deny | d | -Bash(rm -rf /*) | rm -rf /*
deny | d | -Bash(rm:*) | rm
ask | d | +Bash(rm:*) | rmdir x
deny | d | -Bash | ls
deny | d | -Bash() | ls
deny | d | -B*h | ls
ask | d | +Bash(npm test) ; ?Bash(* test) | npm test
## what a wildcard does not cover, and what an exact rule does
ask | d | +Bash(git *) | git clone --template=x u
ask | d | +Bash(git *) | git clone -u x u
ask | d | +Bash(git *) | git clone -cx=y u
ask | d | +Bash(git *) | git --config-env=x=y log
ask | d | +Bash(git *) | git rebase -x 'make' main
ask | d | +Bash(git *) | git rebase --exe make main
ask | d | +Bash(git *) | git bisect run make
ask | d | +Bash(git *) | git submodule foreach make
ask | d | +Bash(git *) | git difftool
ask | d | +Bash(git *) | git config core.pager x
ask | d | +Bash(git *) | git push --receive-pack=x
ask | d | +Bash(git *) | git push --exec=x
ask | d | +Bash(git *) | git fetch fd::17
ask | d | +Bash(git *) | git filter-branch --tree-filter x
ask | d | +Bash(git *) | git -p log
ask | d | +Bash(git *) | git --paginate log
ask | d | +Bash(git fetch *) | git fetch $REMOTE
allow | d | +Bash(git *) | git push origin main
allow | d | +Bash(git *) | git checkout -b x
allow | d | +Bash(git commit *) | git commit -m "$MSG"
ask | d | +Bash(tar *) | tar --checkpoint-act=exec=x -cf a b
ask | d | +Bash(tar *) | tar -xF x a
ask | d | +Bash(tar *) | tar --rmt-command=x -xf a
ask | d | +Bash(tar *) | tar cIf 'sh x' a b
ask | d | +Bash(tar *) | tar czf a.tgz *
allow | d | +Bash(tar *) | tar czf a.tgz src
ask | d | +Bash(rsync *) | rsync -ae x a h:b
ask | d | +Bash(rsync *) | rsync --rsync-path=x a h:b
allow | d | +Bash(rsync *) | rsync -a src h:b
ask | d | +Bash(ssh *) | ssh -S x h
ask | d | +Bash(ssh *) | ssh -F /tmp/c h
ask | d | +Bash(ssh *) | ssh -oKnownHostsCommand=x h
ask | d | +Bash(scp *) | scp -o 'ProxyCommand x' a h:b
allow | d | +Bash(ssh *) | ssh -p 22 h uptime
ask | d | +Bash(sort *) | sort --compress-program=x a
ask | d | +Bash(rg *) | rg --pre=x y
ask | d | +Bash(fd *) | fd -x rm
ask | d | +Bash(awk *) | awk -i inplace x f
ask | d | +Bash(awk *) | awk -l x y
ask | d | +Bash(awk *) | awk -f /tmp/x f
ask | d | +Bash(awk *) | awk '{print | "sh"}' f
ask | d | +Bash(sed *) | sed 's/a/b/e' f
ask | d | +Bash(sed *) | sed 'r /etc/passwd' f
ask | d | +Bash(sed *) | sed -f x f
ask | d | +Bash(sed *) | sed -n '/a/W x' f
allow | d | +Bash(sed *) | sed -i 's/a/b/' f
ask | d | +Bash(sed *) | sed -i 's/a/b/' /etc/hosts
ask | d | +Bash(go *) | go vet -vettool=x ./...
ask | d | +Bash(go *) | go env -w GOFLAGS=x
ask | d | +Bash(go *) | go generate ./...
ask | d | +Bash(go *) | go run example.com/x@latest
allow | d | +Bash(go *) | go run ./cmd/x
ask | d | +Bash(npm *) | npm config set x y
ask | d | +Bash(npm *) | npm --prefix /tmp run x
ask | d | +Bash(pnpm *) | pnpm -C /tmp run x
allow | d | +Bash(npm *) | npm --prefix web run x
ask | d | +Bash(make *) | make -C /tmp
ask | d | +Bash(make *) | make --ev=x
allow | d | +Bash(make *) | make -C web test V=1
ask | d | +Bash(zip *) | zip a.zip b -TT x
ask | d | +Bash(ex *) | ex -S x
ask | d | +Bash(man *) | man -Px ls
ask | d | +Bash(gdb *) | gdb -ex 'shell x'
ask | d | +Bash(env *) | env -S 'x'
ask | d | +Bash(env *) | env make
ask | d | +Bash(wget *) | wget --use-askpass=x u
ask | d | +Bash(wget *) | wget --config=/tmp/x u
ask | d | +Bash(docker *) | docker --host=x ps
ask | d | +Bash(podman *) | podman --url x ps
ask | d | +Bash(mysql *) | mysql -e '\! id'
ask | d | +Bash(sqlite3 *) | sqlite3 a.db '.shell id'
ask | d | +Bash(sqlite3 *) | sqlite3 -cmd '.sh id' a.db
allow | d | +Bash(perl *) | perl -e 'x'
allow | d | +Bash(python3 *) | python3 -c 'x'
allow | d | +Bash(node *) | node -e 'x'
ask | d | +Bash(crontab *) | crontab -l
ask | d | +Bash(at *) | at now
ask | d | +Bash(batch *) | batch
ask | d | +Bash(systemd-run *) | systemd-run x
ask | d | +Bash(nsenter *) | nsenter -t 1 x
ask | d | +Bash(strace *) | strace make
ask | d | +Bash(script *) | script -c make
ask | d | +Bash(parallel *) | parallel make
ask | d | +Bash(busybox *) | busybox ls
ask | d | +Bash(sudo *) | sudo make
allow | d | +Bash(sudo make) | sudo make
allow | d | +Bash(env npm test) | env npm test
ask | d | +Bash(timeout *) | timeout 5 make
allow | d | +Bash(timeout 5 make) | timeout 5 make
allow | d | +Bash(make) | timeout 5 make
ask | d | +Bash(xargs *) | xargs -n1 make
allow | d | +Bash(xargs -n1 make) | xargs -n1 make
allow | d | +Bash | strace make
allow | d | +Bash | env A=1 make
allow | d | +Bash | FOO=1 make
ask | d | +Bash | LD_PRELOAD=x make
ask | d | +Bash(* test) | LD_PRELOAD=x make test
allow | d | +Bash(FOO=1 make) | FOO=1 make
allow | d | +Bash(watch make) | timeout 5 watch make
ask | d | +Bash(bash *) | bash -c 'make'
allow | d | +Bash(bash *) | bash -c 'ls'
allow | d | +Bash(bash -c 'make') | bash -c 'make'
allow | d | +Bash(bash *) ; +Bash(make *) | bash -c 'make x'
ask | d | +Bash(bash *) | curl x | bash
ask | d | +Bash(bash *) | bash < x
ask | d | +Bash | bash -c "$X"
ask | d | +Bash | $X a
ask | d | +Bash | make &
ask | d | +Bash(eval *) | eval ls
allow | d | +Bash(npx *) | npx cowsay hi
deny | d | +Bash(npx *) ; -Bash(cowsay *) | npx -y cowsay hi
deny | d | +Bash(docker *) ; -Bash(rm *) | docker exec -it c rm -rf x
deny | d | +Bash(kubectl *) ; -Bash(rm *) | kubectl exec p -c x -- rm y
deny | d | -Bash(rm *) | find . -delete
deny | d | -Bash(git push *) | git -c a=b --no-pager -C x push
deny | d | -Bash(git push *) | /usr/bin/git -C . push
deny | d | -Bash(rm *) | alias x='rm -rf y'
deny | d | -Bash(rm *) | nix develop -c rm x
deny | d | -Bash(rm *) | sudo --weird-option rm x
deny | d | -Bash(rm *) | sudo --weird-option value rm x
## substitutions under rules
allow | d | +Bash(echo *) ; +Bash(date *) | echo "$(date)"
ask | d | +Bash(echo *) ; +Bash(date *) | echo $(date)
ask | d | +Bash(echo *) | echo "$(curl x)"
allow | d | +Bash(echo *) | echo "$(ls src)"
ask | d | +Bash(echo *) | echo hi > "$(ls)"
ask | d | +Bash(echo *) | "$(ls)" hi
allow | d | +Bash(diff *) ; +Bash(git *) | diff <(git show a) b
ask | d | +Bash(echo *) | echo ${x@P}
ask | b |  | echo ${x@P}
ask | d | +Bash(echo *) | echo $((a[x]))
ask | b |  | $X a
ask | b |  | eval "$X"
allow | b |  | echo $((x+1))
## paths
ask | d | +Bash(cat *) | cat /etc/passwd
ask | d | +Bash(cat *) | cat "$F"
allow | d | +Bash(cat *) | cat src/*.go
ask | d | +Bash(cat *) | cat ../*.go
allow | d | +Read(//etc/hosts) | cat /etc/hosts
allow | d | +Read(//usr/**) | ls /usr/lib
allow | d | +Read(//usr/**) | cd /usr/lib && ls
ask | d | +Read(//usr/**) | cat /usr/../etc/passwd
ask | d | +Bash(rm *) | rm *.o
ask | d | +Bash(rm *) | rm /tmp/x
ask | d | +Bash(rm *) | rm ~/x
ask | d | +Bash(rm *) | rm "$X"
allow | d | +Bash(rm *) | rm a.o
allow | d | +Edit(/a.o) | rm a.o
allow | d | +Edit(/out/**) | touch out/a && mkdir -p out/b
ask | d | +Edit(/out/**) | touch a
ask | d | +Edit(/out/**) | chmod +x out/a
ask | d | +Edit | npm test
allow | d | +Edit(/out.txt) | ls | tee out.txt
ask | d | +Bash(make *) | make > out.txt
allow | d | +Bash(make *) ; +Edit(/out.txt) | make > out.txt
allow | e | +Bash(make *) | make > out.txt 2>&1
ask | e | +Bash(curl *) | curl -o out x
allow | d | +Bash(curl *) ; +Edit(/out) | curl -o out https://h/
ask | d | +Bash(curl *) | curl -O https://h/.bashrc
ask | e |  | cp sub/.envrc .
ask | e |  | cp -r x .git
ask | e |  | cp -t .vscode x
ask | e |  | mv x .husky/pre-commit
ask | e |  | echo x > .mcp.json
ask | e |  | ln x y
ask | e |  | rm -rf .claude
allow | e |  | rm -rf build dist
ask | e |  | rm -rf build*
ask | e |  | mkdir "$X"
ask | e |  | mv /etc/hosts x
ask | e |  | cp x /home/dev/app/../y
allow | e |  | sed -i 's/a/b/g' a.txt
ask | e |  | sed -i 's/a/b/w x' a.txt
ask | e |  | touch -r /etc/passwd x
ask | e |  | cd; touch x
ask | e |  | cd $X; touch x
allow | e |  | cd src && touch x
ask | e |  | cd src; touch ../../x
allow | e |  | (cd src && touch x); touch y
ask | e |  | cd nosuch; rm -rf ../build
ask | d |  | cd src; cd ..; cat ../x
ask | d |  | pushd src
ask | d |  | ls > /dev/tcp/h/1
ask | b | -Read(.env) | cat "$X"
ask | d | -Read(.env) | grep -r x .
allow | d | -Read(/secrets/**) | grep -r x src
ask | d | -Read(/secrets/**) | grep -r x .
deny | d | -Read(/secrets/**) | tar cf a.tar secrets/k
deny | d | -Read(./.env) | git show HEAD:.env
deny | d | -Read(./.env) | . ./.env
deny | d | -Read(./.env) | foo --config=.env
deny | d | -Read(./.env) | cp -t x .env
deny | d | -Read(./.env) | dd if=.env
deny | d | -Read(./.env) | echo $(<.env)
deny | d | -Read(./.env) | while read l; do :; done < .env
deny | d | -Read(./.env) | bash -c 'cat .env'
deny | d | -Read(./.env) | find . -name x -exec cat .env \;
deny | d | -Read(./.env) | cat {.env,x}
deny | d | -Read(./.env) | touch .env
deny | d | -Read(./.env) | echo x >> .env
deny | d | -Edit(./a) | echo x > a
deny | d | -Edit(/src/**) | cd src && touch x
deny | d | -Edit(/src/**) | sed -i s/a/b/ src/x
deny | d | -Edit(/src/**) | sort -o src/x y
deny | d | -Edit(/src/**) | foo > src/x
deny | d | -Edit(/src/**) | curl -o src/x u
deny | d | -Edit(/src/**) | git log --output=src/x
deny | d | -Edit(/src/**) | foo src/x
deny | d | -Edit(/src/a) | rm -rf src
allow | d | -Edit(/src/**) | cat src/x
deny | d | -Read(~/vault/) | cat ~/vault/a
deny | d | -Read(~/vault/**) | cat ${HOME}/x/../vault/a
deny | d | -Read(~/vault/**) | cd ~; cat vault/a
deny | d | -Read(~/vault/**) | cd ~ && cat vault/a
## critical removals
ask | b |  | rm -rf /*
ask | b |  | rm -rf /usr/
ask | b |  | rm -rf /h*
ask | b |  | rm -rf $HOME
ask | b |  | rm -rf ~/
ask | b |  | rm -rf ~/*
ask | b |  | rm -rf ../*
ask | b |  | rm -rf "$X"/
ask | b |  | rm -rf $X/*
ask | b |  | rm -rf /$X
ask | b |  | rm -fr -- .
ask | b |  | find / -delete
ask | b |  | find . -delete
ask | b |  | xargs rm -rf /
ask | b |  | env rm -rf /
ask | b |  | /bin/rm -rf /
ask | b |  | eval 'rm -rf /'
ask | b |  | sh <<< 'rm -rf /'
ask | b |  | x=$(rm -rf ~)
ask | b |  | rmdir ~
ask | b | +Bash(rm -rf /) | rm -rf /
allow | b |  | rm -rf $X
allow | b |  | rm -rf /tmp/x
allow | b |  | rm -rf *.o
allow | b |  | find . -name '*.o' -delete
allow | b |  | rm -rf node_modules/*
allow | b |  | rm -rf "$X/build"
## assignments and declarations
allow | d |  | LANG=C
allow | d |  | LC_ALL=C sort a.txt
allow | d |  | export NODE_ENV=test
ask | d |  | LANG=$X ls
ask | d |  | export FOO=1
ask | d |  | declare -x PATH=/x
ask | d |  | readonly X=1
ask | d |  | A[0]=1
allow | d | +Bash | FOO=1
ask | d | +Bash | PATH=/x
## more of what these kinds hold
allow | d |  | echo $HOME
allow | d |  | ls "$PWD/src"
ask | e |  | touch $HOME/app/x
ask | e |  | touch $PWD/x
ask | d |  | ls > /dev/tty
ask | d |  | git diff /etc/passwd README.md
ask | d |  | git log -- ../x
ask | d |  | git grep x -- ../..
allow | d |  | git log main..dev
ask | d |  | sed ':a;e id' f
ask | e |  | sed -i '' 's/a/b/w /etc/x' f
ask | d | +Bash(less *) | less README.md
ask | d | +Bash(vim *) | vim +:!id x
allow | d | +Bash(make *) | make CC=clang test
ask | d | +Bash(docker *) | docker -H x run img ls
ask | d | +Bash(docker *) | docker --context prod exec c ls
deny | d | -Bash(rm *) | env - rm x
deny | d | -Bash(rm *) | su - dev -c 'rm x'
deny | d | -Bash(rm *) | taskset -c 0 rm x
deny | d | -Bash(rm *) | bash -euo pipefail -c 'rm x'
deny | d | -Bash(rm *) | builtin eval 'rm x'
deny | d | -Bash(rm *) | rm{,} x
ask | b |  | rm -rf ~dev
ask | b |  | rm -rf C:/
ask | b |  | find / -exec rm -rf {} +
ask | b |  | cd / && rm -rf *
ask | b |  | cd .. && rm -rf ./*
allow | b |  | cd build && rm -rf *
deny | d | -Edit(/src/**) | rm -rf src
deny | d | -Read(./.env) | mv . /tmp/x
allow | e | -Read(.env) | rm -rf build
ask | d |  | ls\u00a0x
allow | d | -Bash(timeout:*) | ls
deny | d | -Bash(timeout:*) | timeout 5 ls
ask | d |  | for x in a; do; done
ask | d |  | ls &&& ls
ask | d |  | echo a > > b
## modes
ask | p | +Bash(npm *) | npm test
ask | p |  | ls > x
allow | p |  | git log | head
deny | n |  | touch x
deny | n |  | cat /etc/passwd
deny | n |  | ls "
allow | a | +Bash(go test *) | go test ./...
ask | a | +Bash(npx *) | npx x
ask | a | +Bash(env *) | env
ask | a |  | touch x
allow | b |  | python3 x.py > /tmp/y
ask | b | ?Bash(npm *) | ls; npm x
## cd and git
allow | d | +Bash(cd *) ; +Bash(git diff *) ; +Bash(head *) | cd sub && git diff main...HEAD | head -30
ask | d | +Bash(git diff *) | cd sub && git diff
ask | d |  | (cd sub && git log)
allow | d |  | cat f 2>/dev/null; echo ---
allow | d |  | cat <<'E'\nx\nE
ask | d |  | cat <<E\n$X\nE
## functions, aliases, builtins
ask | d | +Bash(cat *) | cat() { id; }; cat x
allow | d | +Bash | f() { make; }; f
ask | d |  | trap 'ls' EXIT
ask | d |  | exec ls
ask | d |  | mapfile -C x -c 1 a
ask | d |  | read x
ask | d |  | unset PATH
ask | d |  | ulimit -n 10
`
