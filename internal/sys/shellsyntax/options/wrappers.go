package options

import (
	"strings"
	"sync"
)

// Wrapper describes a program that runs another one given among its arguments.
type Wrapper struct {
	Strip     bool     // adds nothing to what the inner program could do
	Runner    bool     // fetches or enters an environment and runs the program there
	Operands  int      // operands before the inner command
	Short     string   // short options that take a value
	Long      []string // long options that take a value, without dashes
	Plain     string   // short options that are well understood (strip only); "#" is a number
	PlainLong []string // long options that are well understood (strip only)
	Text      string   // short options whose value is the text of a command
	TextLong  []string
	Assigns   bool   // takes NAME=value before the command
	Joined    bool   // joins its words and has a shell read them
	Texts     bool   // each of its words, and each value of an option, may be the text of a command
	Dashes    bool   // the command comes after "--" alone
	Chdir     string // short options that change the directory
	ChdirLong []string
	After     []string // the command begins right after one of these options
	Maybe     bool     // an operand may stand before the inner command
	Long2     []string // long options that take two values, without dashes
	Anywhere  bool     // its options may follow the operands, and only text options hold a command
}

// wrapperLines is the table of wrappers. A line is: names joined by commas, each perhaps with sub-commands ("docker/run"), then
// fields. Sources are the manual pages of the programs.
//
//	strip runner assigns joined texts dashes anywhere maybe   attributes
//	N=2                                           operands before the command
//	s=abc  l=name,name  l2=name                   short and long options with a value, long ones with two
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
sg joined N=1 s=c t=c
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
script N=1 s=cEIOBTmot l=command,log-in,log-out,log-io,log-timing,output-limit t=c tl=command
parallel joined s=jSaINndPL l=jobs,sshlogin,arg-file,max-args,delimiter,colsep,joblog,results,workdir,tmpdir,timeout,delay,retries,header
sem joined s=jSaINndPL l=jobs,id,semaphorename,semaphoretimeout,timeout,delay,retries,workdir,tmpdir
busybox
toybox
exec s=a
setarch maybe
linux32
linux64
uname26
x86_64
i386
i486
i586
i686
choom s=np l=adjust,pid
capsh anywhere t=c
runcon maybe s=turl l=type,user,role,range
cgexec s=g l=sticky
systemd-inhibit l=what,who,why,mode
ld.so l=library-path,preload,argv0,audit,inhibit-rpath,glibc-hwcaps-prepend,glibc-hwcaps-mask
bwrap l2=bind,bind-try,dev-bind,dev-bind-try,ro-bind,ro-bind-try,symlink,setenv,file,bind-data,ro-bind-data,chmod,bind-fd,ro-bind-fd,overlay l=chdir,uid,gid,hostname,args,lock-file,proc,dev,tmpfs,mqueue,dir,remount-ro,perms,size,unsetenv,seccomp,add-seccomp-fd,exec-label,file-label,sync-fd,block-fd,userns,userns2,pidns,userns-block-fd,info-fd,json-status-fd,cap-add,cap-drop,argv0 d=/ dl=/
logsave N=1
ifne
faketime N=1 s=fmpi
run0 s=uginD l=user,group,nice,chdir,unit,property,description,slice,setenv,background,machine d=D dl=chdir
pasta
slirp4netns N=2
stress-ng
cset/proc
schedtool s=nap
uclampset s=mM
coresched s=sdt
prlimit s=po l=pid,output
numactl s=imNCpP l=interleave,membind,cpunodebind,physcpubind,preferred
systemd-run s=puHMEGS l=unit,property,uid,gid,setenv,working-directory,host,machine,slice,description,on-calendar,on-active,on-boot d=/ dl=working-directory
dbus-run-session l=config-file,dbus-daemon
ssh-agent s=atE
xvfb-run s=efnps l=error-file,auth-file,server-num,server-args
fakeroot s=lsibu l=lib,faked
fakechroot s=lebsc l=lib,elfloader,bindir,config-dir,environment
rr/record s=nF l=env,output-trace-dir,num-cores
heaptrack s=op l=output,pid
gpg-agent anywhere after=--daemon
eatmydata
firejail
proot s=rbwkq
valgrind
catchsegv
perf/stat s=eprxCGDIotjM l=event,pid,repeat,field-separator,cpu,cgroup,delay,interval-print,output,tid,metrics,timeout,interval-count,log-fd,pre,post,topdown-level,control
perf/record s=epPtoFcgmCGjDukI l=event,pid,tid,output,freq,count,mmap-pages,call-graph,cpu,cgroup,branch-filter,delay,uid,clockid,max-size,user-regs,intr-regs,switch-output
perf/trace s=epPtouCmFG l=event,pid,tid,output,uid,cpu,duration,filter-pids,mmap-pages,max-stack
perf/mem maybe s=t
perf/sched maybe
perf/lock maybe
perf/kmem maybe
perf/c2c maybe s=e
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
hyperfine texts s=wrmMsSpcLDno l=warmup,runs,min-runs,max-runs,setup,prepare,cleanup,shell,parameter-list,export-json,export-markdown,command-name
entr joined t=s
concurrently texts s=cnklpr l=names,max-processes,kill-others,prefix,prefix-colors,restart-tries
watchexec joined s=wWifeEsdpoN l=watch,ignore,filter,exts,env,signal,shell,debounce,on-busy-update,delay-run,workdir,project-origin
cross-env assigns
cross-env-shell assigns joined
env-cmd s=fer l=file,environments,rc-file
dotenv s=efvpo l=env,file
cmake anywhere after=-E
just anywhere after=-c,--command
fd anywhere after=-x,--exec,-X,--exec-batch
fdfind anywhere after=-x,--exec,-X,--exec-batch
xterm anywhere after=-e
konsole anywhere after=-e
alacritty anywhere after=-e,--command
gnome-terminal dashes
screen joined s=cehpsStTxX
tmux/new-session joined s=cFefnstxy
tmux/new joined s=cFefnstxy
tmux/new-window joined s=cFent
tmux/neww joined s=cFent
tmux/split-window joined s=celtFp
tmux/splitw joined s=celtFp
tmux/respawn-pane joined s=cet
tmux/respawn-window joined s=cet
tmux/run-shell joined s=cdt
tmux/run joined s=cdt
tmux/pipe-pane joined s=t
tmux/display-popup joined s=bcdehsStTwxy
tmux/popup joined s=bcdehsStTwxy
tmux/send-keys joined s=cNt
tmux/send joined s=cNt
meson/devenv s=Cw l=workdir
machinectl/shell N=1 s=E l=uid,setenv
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
docker/exec,docker/container/exec,podman/exec,podman/container/exec,nerdctl/exec,nerdctl/container/exec runner N=1 s=euw l=env,env-file,user,workdir,detach-keys
docker/run,docker/create,docker/container/run,docker/container/create,podman/run,podman/create,podman/container/run,podman/container/create,nerdctl/run,nerdctl/create,nerdctl/container/run,nerdctl/container/create runner N=1 s=aceuwvphlm l=attach,add-host,annotation,blkio-weight,cap-add,cap-drop,cgroup-parent,cgroupns,cidfile,cpu-period,cpu-quota,cpu-shares,cpus,cpuset-cpus,cpuset-mems,detach-keys,device,dns,dns-option,dns-search,domainname,entrypoint,env,env-file,expose,gpus,group-add,health-cmd,health-interval,health-retries,hostname,ip,ip6,ipc,isolation,kernel-memory,label,label-file,link,log-driver,log-opt,mac-address,memory,memory-swap,mount,name,net,network,network-alias,oom-score-adj,pid,pids-limit,platform,publish,pull,restart,runtime,security-opt,shm-size,stop-signal,stop-timeout,storage-opt,sysctl,tmpfs,ulimit,user,userns,uts,volume,volume-driver,volumes-from,workdir,cgroups,ip,pod,secret,cgroup-conf,device-cgroup-rule,env-merge,hooks-dir,image-volume,init-path,ipc,passwd-entry,personality,pidfile,requires,rootfs,seccomp-policy,shm-size-systemd,subgidname,subuidname,systemd,timeout,tz,umask,uidmap,gidmap,unsetenv,variant,arch,os,cpu-rt-period,cpu-rt-runtime,device-read-bps,device-write-bps,device-read-iops,device-write-iops,domainname,health-start-period,health-timeout,health-start-interval,ip6,link-local-ip,volume-driver,cgroup-manager,snapshotter,namespace
docker-compose/exec,podman-compose/exec,docker/compose/exec,podman/compose/exec,nerdctl/compose/exec runner N=1 s=euw l=env,user,workdir,index
docker-compose/run,podman-compose/run,docker/compose/run,podman/compose/run,nerdctl/compose/run runner N=1 s=euwvpl l=env,user,workdir,volume,publish,name,entrypoint,label,env-from-file,pull,cap-add,cap-drop
kubectl/exec,oc/exec,oc/rsh runner N=1 s=cnf l=container,namespace,filename,context,cluster,kubeconfig,pod-running-timeout,request-timeout
lxc/exec,incus/exec runner N=1 s=nt l=env,mode,cwd,user,group d=/ dl=cwd
ssh,autossh,rsh,slogin,dbclient joined runner N=1 s=bBcDEeFIiJLlMmOopPQRSWw
mosh runner N=1 s=p l=client,server,predict,family,port,bind-server,ssh,experimental-remote-ip
vagrant/ssh anywhere runner s=c l=command t=c tl=command
ddev/exec runner s=sd l=service,dir
toolbox/run runner s=cdr l=container,distro,release
distrobox/enter runner dashes s=nr l=name
rustup/run runner N=1
volta/run runner l=node,npm,yarn
fnm/exec runner l=using
nvm/exec runner N=1
heroku/run runner s=a l=app
fly/ssh anywhere runner s=C l=command t=C tl=command
flyctl/ssh anywhere runner s=C l=command t=C tl=command
kubectl/run runner dashes
kubectl/debug runner dashes
guix/shell runner dashes
rbenv/exec runner
pyenv/exec runner
nodenv/exec runner
goenv/exec runner
jenv/exec runner
opam/exec runner l=switch,root
stack/exec runner l=package,cwd,stack-yaml d=/ dl=cwd
cabal/exec runner
micromamba/run runner s=nprce l=name,prefix,cwd,env d=/ dl=cwd
dotenvx/run runner s=fekv l=env-file,env
op/run runner l=env-file,account
doppler/run runner s=pct l=project,config,token,scope,mount t= tl=command
infisical/run runner l=env,path,projectId,token,tags tl=command
aws-vault/exec runner N=1 s=dt l=duration,mfa-token,region
chamber/exec runner dashes
sops/exec-env runner N=1 joined
sops/exec-file runner N=1 joined
`

var wrappers = sync.OnceValue(func() map[string]*Wrapper {
	out := map[string]*Wrapper{}
	for line := range strings.SplitSeq(wrapperLines, "\n") {
		f := strings.Fields(line)
		if len(f) == 0 {
			continue
		}
		w := &Wrapper{}
		for _, attr := range f[1:] {
			w.set(attr)
		}
		for name := range strings.SplitSeq(f[0], ",") {
			out[name] = w
			for i := strings.LastIndexByte(name, '/'); i > 0; i = strings.LastIndexByte(name[:i], '/') {
				if up := name[:i]; out[up] == nil {
					out[up] = nil // has subcommands only
				}
			}
		}
	}
	return out
})

func (w *Wrapper) set(attr string) {
	key, val, _ := strings.Cut(attr, "=")
	switch key {
	case "strip":
		w.Strip = true
	case "runner":
		w.Runner = true
	case "assigns":
		w.Assigns = true
	case "joined":
		w.Joined = true
	case "texts":
		w.Texts = true
	case "dashes":
		w.Dashes = true
	case "anywhere":
		w.Anywhere = true
	case "maybe":
		w.Maybe = true
	case "l2":
		w.Long2 = strings.Split(val, ",")
	case "N":
		w.Operands = int(val[0] - '0')
	case "s":
		w.Short = val
	case "l":
		w.Long = strings.Split(val, ",")
	case "p":
		w.Plain = val
	case "pl":
		w.PlainLong = strings.Split(val, ",")
	case "t":
		w.Text = val
	case "tl":
		w.TextLong = strings.Split(val, ",")
	case "d":
		w.Chdir = val
	case "after":
		w.After = strings.Split(val, ",")
	case "dl":
		w.ChdirLong = strings.Split(val, ",")
	}
}

// FindWrapper returns the wrapper that a program is. When what it is depends on a sub-command, that is found with
// [FindWrapper] of "program/sub"; known is true then, and the wrapper nil.
func FindWrapper(name string) (w *Wrapper, known bool) {
	w, known = wrappers()[wrapperName(name)]
	return w, known
}

// wrapperName brings other names of a wrapper to the one in the table: GNU's programs with a g before their names, and the
// loader of dynamic libraries.
func wrapperName(name string) string {
	if _, known := wrappers()[name]; known {
		return name
	}
	if strings.HasPrefix(name, "ld-linux") || strings.HasPrefix(name, "ld-musl") || strings.HasPrefix(name, "ld64.so") || strings.HasPrefix(name, "ld-2") {
		return "ld.so"
	}
	if rest, ok := strings.CutPrefix(name, "g"); ok {
		switch rest {
		case "timeout", "env", "xargs", "nice", "nohup", "stdbuf", "chroot", "time", "runcon":
			return rest
		}
	}
	return name
}

// Abbreviates tells whether name is one of the options or the beginning of one.
func Abbreviates(options []string, name string) bool {
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
