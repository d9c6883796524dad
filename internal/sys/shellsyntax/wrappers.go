package shellsyntax

import (
	"slices"
	"strings"
	"sync"
)

// wrapper describes a program that runs another one given among its arguments.
type wrapper struct {
	strip    bool     // adds nothing to what the inner program could do
	runner   bool     // fetches or enters an environment and runs the program there
	operands int      // operands before the inner command
	short    string   // short options that take a value
	long     []string // long options that take a value, without dashes
	plain    string   // short options that are well understood (strip only); "#" is a number
	plainL   []string // long options that are well understood (strip only)
	text     string   // short options whose value is the text of a command
	textL    []string
	assigns  bool   // takes NAME=value before the command
	joined   bool   // joins its words and has a shell read them
	dashes   bool   // the command comes after "--" alone
	chdir    string // short options that change the directory
	chdirL   []string
	after    []string // the command begins right after one of these options
	anywhere bool     // its options may follow the operands, and only text options hold a command
}

// wrapperLines is the table of wrappers. A line is: name [subcommand], then fields. Sources are the
// manual pages of the programs.
//
//	strip runner assigns joined dashes anywhere   attributes
//	N=2                                           operands before the command
//	s=abc  l=name,name                            short and long options with a value
//	p=abc  pl=name                                well understood options
//	t=c    tl=command                             options whose value is a command text
//	d=C    dl=chdir                               options that change the directory
//	after=-c,--command                            options right before the command
const wrapperLines = `
timeout strip N=1 s=ks l=kill-after,signal p=ksvfp pl=kill-after,signal,foreground,preserve-status,verbose
time strip s=fo l=format,output p=p
nice strip s=n l=adjustment p=n# pl=adjustment
nohup strip
stdbuf strip s=ioe l=input,output,error p=ioe pl=input,output,error
command strip p=p
builtin strip
noglob strip
xargs strip s=adEIJLnPRsS l=arg-file,delimiter,eof,replace,max-lines,max-args,max-procs,max-chars,process-slot-var
env assigns s=uCS l=unset,chdir,split-string,block-signal,default-signal,ignore-signal t=S tl=split-string d=C dl=chdir
sudo assigns s=ugUpCchrtTRDa l=user,group,other-user,prompt,close-from,host,role,type,command-timeout,chroot,chdir,login-class d=DR dl=chdir,chroot
doas s=uC
su anywhere s=cgGsw l=command,session-command,group,supp-group,shell,whitelist-environment t=c tl=command,session-command
runuser s=cugGsw l=command,session-command,user,group,supp-group,shell t=c tl=command,session-command
pkexec l=user
sg N=1 s=c t=c
watch joined s=nq l=interval,equexit
setsid
ionice s=cnpPu l=class,classdata
chrt N=1 s=TPDp l=sched-runtime,sched-period,sched-deadline
taskset N=1 s=p
flock N=1 s=wEc l=timeout,wait,conflict-exit-code,command t=c tl=command
chroot N=1 l=groups,userspec d=/ dl=/
unshare s=SGRw l=root,wd,setuid,setgid,map-user,map-group,propagation,monotonic,boottime,kill-child d=Rw dl=root,wd
nsenter s=tSGrw l=target,setuid,setgid d=rw dl=root,wd
setpriv l=reuid,regid,groups,ruid,euid,rgid,egid,securebits,inh-caps,ambient-caps,bounding-set,pdeathsig,selinux-label,apparmor-profile
strace s=oespuEabIOSPXU l=output,trace,string-limit,attach,user,env,columns
ltrace s=oespuanlxADF l=output
gdb anywhere
script anywhere s=cEIOBTmot l=command,log-in,log-out,log-io,log-timing,output-limit t=c tl=command
parallel joined s=jSaINndPL l=jobs,sshlogin,arg-file,max-args,delimiter,colsep,joblog,results,workdir,tmpdir,timeout,delay,retries,header
busybox
toybox
exec s=a
setarch N=1
linux32
linux64
prlimit s=po l=pid,output
numactl s=imNCpP l=interleave,membind,cpunodebind,physcpubind,preferred
systemd-run s=puHMEGS l=unit,property,uid,gid,setenv,working-directory,host,machine,slice,description,on-calendar,on-active,on-boot d=/ dl=working-directory
dbus-run-session l=config-file,dbus-daemon
ssh-agent s=atE
xvfb-run s=efnps l=error-file,auth-file,server-num,server-args
fakeroot s=lsibu l=lib,faked
eatmydata
firejail
proot s=rbwkq
valgrind
catchsegv
perf
caffeinate s=tw
torsocks
torify
proxychains s=f
proxychains4 s=f
rlwrap s=abcCDefFgHilmnoOpPqstSvwz
unbuffer
winpty
dumb-init
tini s=p
gosu N=1
su-exec N=1
chpst s=ueUbodmnpsfcrtl/
softlimit s=acdflmoprst
setuidgid N=1
envdir N=1
cpulimit s=lpe l=limit,pid,exe
chronic
ts
hyperfine joined s=wrmMsSpcLDno l=warmup,runs,min-runs,max-runs,setup,prepare,cleanup,shell,parameter-list,export-json,export-markdown,command-name
entr
nodemon s=wexid l=watch,ext,exec,ignore,delay t=x tl=exec
npx runner s=pcw l=package,call,workspace,node-options,prefix t=c tl=call
bunx runner s=p l=package
uvx runner s=pcfwPi l=from,with,python,index-url,index,with-editable,with-requirements,directory,project d=/ dl=directory
pipx/run runner l=spec,python,pip-args,index-url
devbox/run runner s=ce l=config,env,env-file
mise/exec runner dashes s=cCj l=command,cd,jobs t=c tl=command d=C dl=cd
mise/x runner dashes s=cCj l=command,cd,jobs t=c tl=command d=C dl=cd
rtx/exec runner dashes
asdf/exec runner
direnv/exec runner N=1 d=/ dl=/
nix/develop runner anywhere s=k l=keep,phase after=-c,--command
nix/shell runner anywhere s=k l=keep after=-c,--command
nix/run runner dashes
nix-shell anywhere runner s=pAI l=run,command,packages tl=run,command
poetry/run runner s=CP l=directory,project
uv/run runner s=pEPwm l=python,with,with-editable,with-requirements,extra,group,no-group,only-group,index-url,index,env-file,package,project,directory,module d=/ dl=directory
uv/tool runner N=1 l=from,with,python
pdm/run runner s=p l=project
hatch/run runner s=e l=env
pipenv/run runner
rye/run runner
conda/run runner s=np l=name,prefix,cwd d=/ dl=cwd
mamba/run runner s=np l=name,prefix,cwd
bundle/exec runner
npm/exec runner s=cw l=call,package,workspace,prefix t=c tl=call
npm/x runner s=cw l=call,package,workspace,prefix t=c tl=call
pnpm/exec runner s=Cc l=dir,filter d=C dl=dir
pnpm/dlx runner l=package
yarn/exec runner
yarn/dlx runner s=p l=package
bun/x runner s=p
docker/exec runner N=1 s=euw l=env,env-file,user,workdir,detach-keys
docker/run runner N=1 s=aceuwvphlm l=attach,add-host,annotation,blkio-weight,cap-add,cap-drop,cgroup-parent,cgroupns,cidfile,cpu-period,cpu-quota,cpu-shares,cpus,cpuset-cpus,cpuset-mems,detach-keys,device,dns,dns-option,dns-search,domainname,entrypoint,env,env-file,expose,gpus,group-add,health-cmd,health-interval,health-retries,hostname,ip,ip6,ipc,isolation,kernel-memory,label,label-file,link,log-driver,log-opt,mac-address,memory,memory-swap,mount,name,net,network,network-alias,oom-score-adj,pid,pids-limit,platform,publish,pull,restart,runtime,security-opt,shm-size,stop-signal,stop-timeout,storage-opt,sysctl,tmpfs,ulimit,user,userns,uts,volume,volume-driver,volumes-from,workdir
podman/exec runner N=1 s=euw l=env,env-file,user,workdir,detach-keys
podman/run runner N=1 s=aceuwvphlm l=attach,add-host,cap-add,cap-drop,cgroups,cidfile,cpus,device,dns,entrypoint,env,env-file,expose,group-add,hostname,ip,label,log-driver,memory,mount,name,network,pid,platform,pod,publish,pull,restart,secret,security-opt,shm-size,stop-signal,sysctl,tmpfs,ulimit,user,userns,volume,volumes-from,workdir
nerdctl/exec runner N=1 s=euw l=env,user,workdir
nerdctl/run runner N=1 s=euwvp l=env,user,workdir,volume,publish,name,network
docker-compose/exec runner N=1 s=euw l=env,user,workdir,index
docker-compose/run runner N=1 s=euwvpl l=env,user,workdir,volume,publish,name,entrypoint,label
docker/compose runner N=2 s=feuwvpl l=file,env,user,workdir,volume,publish,name,entrypoint,label,project-name,project-directory,profile,env-file
kubectl/exec runner dashes s=cnf l=container,namespace,filename,context,cluster,kubeconfig
oc/exec runner dashes s=cnf l=container,namespace
lxc/exec runner dashes
incus/exec runner dashes
vagrant/ssh anywhere runner s=c l=command t=c tl=command
ddev/exec runner s=sd l=service,dir
toolbox/run runner s=cdr l=container,distro,release
distrobox/enter runner dashes s=nr l=name
rustup/run runner N=1
volta/run runner l=node,npm,yarn
fnm/exec runner l=using
nvm/exec runner N=1
heroku/run runner s=a l=app
`

var wrappers = sync.OnceValue(func() map[string]*wrapper {
	out := map[string]*wrapper{}
	for line := range strings.SplitSeq(wrapperLines, "\n") {
		f := strings.Fields(line)
		if len(f) == 0 {
			continue
		}
		w := &wrapper{}
		for _, attr := range f[1:] {
			w.set(attr)
		}
		out[f[0]] = w
		if name, _, sub := strings.Cut(f[0], "/"); sub && out[name] == nil {
			out[name] = nil // has subcommands only
		}
	}
	return out
})

func (w *wrapper) set(attr string) {
	key, val, _ := strings.Cut(attr, "=")
	switch key {
	case "strip":
		w.strip = true
	case "runner":
		w.runner = true
	case "assigns":
		w.assigns = true
	case "joined":
		w.joined = true
	case "dashes":
		w.dashes = true
	case "anywhere":
		w.anywhere = true
	case "N":
		w.operands = int(val[0] - '0')
	case "s":
		w.short = val
	case "l":
		w.long = strings.Split(val, ",")
	case "p":
		w.plain = val
	case "pl":
		w.plainL = strings.Split(val, ",")
	case "t":
		w.text = val
	case "tl":
		w.textL = strings.Split(val, ",")
	case "d":
		w.chdir = val
	case "after":
		w.after = strings.Split(val, ",")
	case "dl":
		w.chdirL = strings.Split(val, ",")
	}
}

// peeled is what one look behind a wrapper found.
type peeled struct {
	at       int  // index of the inner command's first word; 0: none
	alt      int  // another index it may start at, when an option is not known; 0: none
	stripped bool // by options that are well understood
	text     int  // index of a word that is, or ends in, the text of a command; 0: none
	textFrom int  // where in the word's value the text begins
	joined   bool // the words from at on are joined and read by a shell
	moved    bool // in another directory
	unknown  bool // where the command begins is only known at run time
	runner   bool
	name     string
}

// findWrapper returns the wrapper that the word at from names, and the index after its name.
func findWrapper(words []Word, from int) (*wrapper, string, int) {
	if !words[from].Static() {
		return nil, "", 0
	}
	name := baseName(words[from].Text)
	w, known := wrappers()[name]
	if w != nil || !known {
		return w, name, from + 1
	}
	for i := from + 1; i < len(words) && words[i].Static(); i++ {
		if strings.HasPrefix(words[i].Text, "-") {
			continue
		}
		return wrappers()[name+"/"+words[i].Text], name + " " + words[i].Text, i + 1
	}
	return nil, "", 0
}

// peel looks behind the wrapper at words[from]; ok is false when the word is no wrapper or the
// wrapper runs nothing.
func peel(words []Word, from int) (p peeled, ok bool) {
	w, name, i := findWrapper(words, from)
	if w == nil || i > len(words) {
		return p, false
	}
	p = peeled{name: name, stripped: w.strip, runner: w.runner, joined: w.joined}
	if len(w.chdirL) > 0 && w.chdirL[0] == "/" {
		p.moved = true
	}
	if name == "gdb" {
		return peelGDB(words, i, p)
	}
	if name == "xargs" && i < len(words) && words[i].Static() && strings.HasPrefix(words[i].Text, "-") {
		p.stripped = false
	}
	return w.find(p, words, i)
}

// find goes through the words after a wrapper's name until the inner command begins.
func (w *wrapper) find(p peeled, words []Word, i int) (peeled, bool) {
	operands, dashed, unknownOption := w.operands, false, false
	for ; i < len(words); i++ {
		text := words[i].Text
		if !words[i].Static() {
			if w.anywhere {
				continue
			}
			if operands > 0 && !words[i].Splits() {
				operands--
				p.stripped = false
				continue
			}
			p.unknown, p.at = true, i
			return p, true
		}
		switch {
		case text == "--" && !dashed:
			dashed = true
			if w.dashes {
				operands = 0
			}
		case text == "-" && (p.name == "env" || p.name == "su"):
			p.stripped = false
		case slices.Contains(w.after, text) && i+1 < len(words):
			p.at = i + 1
			return p, true
		case !dashed && len(text) > 1 && (text[0] == '-' || (p.name == "time" && text[0] == '+')):
			if p.name == "command" && strings.ContainsAny(text, "vV") {
				return p, false // asks what a name means, runs nothing
			}
			var value int
			if value, unknownOption = w.option(&p, words, i); p.text > 0 {
				return p, true
			}
			i += value
		case w.assigns && isAssignment(text):
			unknownOption = false
		case w.anywhere, w.dashes && !dashed:
		case operands > 0:
			operands--
			unknownOption = false
		default:
			p.at = i
			if unknownOption && i+1 < len(words) {
				p.alt = i + 1
			}
			return p, true
		}
	}
	return p, false
}

// option reads the option at words[i]. It returns how many further words its value takes, and
// whether the option is not known, so that the next word may be its value.
func (w *wrapper) option(p *peeled, words []Word, i int) (int, bool) {
	text := words[i].Text
	if strings.HasPrefix(text, "--") {
		return w.longOption(p, words, i)
	}
	for j := 1; j < len(text); j++ {
		c := text[j]
		if c >= '0' && c <= '9' {
			if !strings.Contains(w.plain, "#") {
				p.stripped = false
			}
			continue
		}
		if strings.IndexByte(w.plain, c) < 0 {
			p.stripped = false
		}
		if strings.IndexByte(w.chdir, c) >= 0 {
			p.moved = true
		}
		if w.text != "" && strings.IndexByte(w.text, c) >= 0 {
			if j+1 < len(text) {
				p.text, p.textFrom = i, j+1
			} else if i+1 < len(words) {
				p.text, p.textFrom = i+1, 0
			}
			return 0, false
		}
		if strings.IndexByte(w.short, c) >= 0 {
			if j+1 < len(text) {
				return 0, false
			}
			return 1, false
		}
	}
	return 0, true
}

func (w *wrapper) longOption(p *peeled, words []Word, i int) (int, bool) {
	name, _, hasValue := strings.Cut(words[i].Text[2:], "=")
	if !abbreviates(w.plainL, name) {
		p.stripped = false
	}
	if abbreviates(w.chdirL, name) {
		p.moved = true
	}
	if abbreviates(w.textL, name) {
		if hasValue {
			p.text, p.textFrom = i, len(name)+3
		} else if i+1 < len(words) {
			p.text, p.textFrom = i+1, 0
		}
		return 0, false
	}
	if hasValue {
		return 0, false
	}
	if abbreviates(w.long, name) {
		return 1, false
	}
	return 0, true
}

// abbreviates tells whether name is one of the options or the beginning of one.
func abbreviates(options []string, name string) bool {
	if name == "" {
		return false
	}
	for _, o := range options {
		if strings.HasPrefix(o, name) {
			return true
		}
	}
	return false
}

func peelGDB(words []Word, i int, p peeled) (peeled, bool) {
	for ; i < len(words); i++ {
		if words[i].Static() && (words[i].Text == "--args" || words[i].Text == "-args") && i+1 < len(words) {
			p.at = i + 1
			return p, true
		}
	}
	return p, false
}

func isAssignment(s string) bool {
	name, _, ok := strings.Cut(s, "=")
	return ok && isName(strings.TrimSuffix(name, "+"))
}

func isName(s string) bool {
	if s == "" || (s[0] >= '0' && s[0] <= '9') {
		return false
	}
	for i := range len(s) {
		c := s[i]
		if !(c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9') {
			return false
		}
	}
	return true
}
