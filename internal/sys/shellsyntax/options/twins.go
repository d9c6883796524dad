package options

import (
	"strings"
	"sync"
)

// twinLines pairs the short options of programs with the long ones that mean the same: "program sub | -x=--long". A program
// that is listed is listed in full: its other short options have no long form.
const twinLines = `
git commit | -a=--all -m=--message -F=--file -C=--reuse-message -c=--reedit-message -n=--no-verify -s=--signoff -v=--verbose -q=--quiet -e=--edit -o=--only -i=--include -p=--patch -t=--template -S=--gpg-sign -u=--untracked-files -z=--null
git push | -f=--force -u=--set-upstream -n=--dry-run -d=--delete -q=--quiet -v=--verbose -o=--push-option -4=--ipv4 -6=--ipv6
git add | -A=--all -u=--update -f=--force -n=--dry-run -v=--verbose -p=--patch -i=--interactive -e=--edit -N=--intent-to-add
git rm | -f=--force -n=--dry-run -q=--quiet
git mv | -f=--force -n=--dry-run -v=--verbose
git reset | -q=--quiet -p=--patch -N=--intent-to-add
git restore | -s=--source -p=--patch -W=--worktree -S=--staged -q=--quiet -m=--merge -2=--ours -3=--theirs
git checkout | -f=--force -q=--quiet -t=--track -m=--merge -p=--patch -d=--detach -2=--ours -3=--theirs
git switch | -c=--create -C=--force-create -d=--detach -f=--force -q=--quiet -m=--merge -t=--track
git clean | -f=--force -n=--dry-run -q=--quiet -e=--exclude -i=--interactive
git branch | -d=--delete -m=--move -c=--copy -f=--force -l=--list -r=--remotes -a=--all -v=--verbose -q=--quiet -t=--track -u=--set-upstream-to -i=--ignore-case
git tag | -a=--annotate -s=--sign -u=--local-user -f=--force -d=--delete -v=--verify -l=--list -m=--message -F=--file -e=--edit -i=--ignore-case
git merge | -n=--no-stat -s=--strategy -X=--strategy-option -S=--gpg-sign -q=--quiet -v=--verbose -m=--message -F=--file -e=--edit
git cherry-pick | -e=--edit -m=--mainline -n=--no-commit -s=--signoff -S=--gpg-sign -X=--strategy-option
git revert | -e=--edit -m=--mainline -n=--no-commit -s=--signoff -S=--gpg-sign -X=--strategy-option
git rebase | -x=--exec -i=--interactive -s=--strategy -X=--strategy-option -S=--gpg-sign -q=--quiet -v=--verbose -n=--no-stat -f=--force-rebase -m=--merge -r=--rebase-merges
git pull | -r=--rebase -s=--strategy -X=--strategy-option -S=--gpg-sign -q=--quiet -v=--verbose -f=--force -t=--tags -p=--prune -a=--append -k=--keep -j=--jobs -n=--no-stat -e=--edit -4=--ipv4 -6=--ipv6 -o=--server-option
git fetch | -a=--append -f=--force -k=--keep -p=--prune -P=--prune-tags -n=--no-tags -t=--tags -j=--jobs -q=--quiet -v=--verbose -u=--update-head-ok -4=--ipv4 -6=--ipv6 -o=--server-option
git clone | -q=--quiet -v=--verbose -n=--no-checkout -l=--local -s=--shared -o=--origin -b=--branch -u=--upload-pack -c=--config -j=--jobs
git stash | -k=--keep-index -a=--all -u=--include-untracked -m=--message -S=--staged -p=--patch -q=--quiet
git log | -p=--patch -u=--patch -U=--unified -n=--max-count -i=--regexp-ignore-case -E=--extended-regexp -F=--fixed-strings -P=--perl-regexp -g=--walk-reflogs -s=--no-patch -w=--ignore-all-space -b=--ignore-space-change -a=--text -M=--find-renames -C=--find-copies -B=--break-rewrites -W=--function-context
git diff | -p=--patch -u=--patch -U=--unified -s=--no-patch -w=--ignore-all-space -b=--ignore-space-change -a=--text -M=--find-renames -C=--find-copies -B=--break-rewrites -W=--function-context
git config | -l=--list -f=--file -z=--null -e=--edit
git submodule | -b=--branch -f=--force -q=--quiet -j=--jobs
git apply | -3=--3way -R=--reverse -z=--null -v=--verbose -q=--quiet -N=--intent-to-add
git worktree | -f=--force -d=--detach -q=--quiet -v=--verbose -n=--dry-run
rm | -f=--force -r=--recursive -R=--recursive -d=--dir -v=--verbose
cp | -a=--archive -f=--force -i=--interactive -l=--link -L=--dereference -n=--no-clobber -P=--no-dereference -r=--recursive -R=--recursive -s=--symbolic-link -S=--suffix -t=--target-directory -T=--no-target-directory -u=--update -v=--verbose -x=--one-file-system
mv | -f=--force -i=--interactive -n=--no-clobber -S=--suffix -t=--target-directory -T=--no-target-directory -u=--update -v=--verbose
ln | -f=--force -i=--interactive -L=--logical -n=--no-dereference -P=--physical -r=--relative -s=--symbolic -S=--suffix -t=--target-directory -T=--no-target-directory -v=--verbose
mkdir | -m=--mode -p=--parents -v=--verbose
rmdir | -p=--parents -v=--verbose
touch | -c=--no-create -d=--date -h=--no-dereference -r=--reference
chmod | -c=--changes -f=--silent -v=--verbose -R=--recursive
chown | -c=--changes -f=--silent -v=--verbose -R=--recursive -h=--no-dereference
tee | -a=--append -i=--ignore-interrupts
sed | -n=--quiet -e=--expression -f=--file -E=--regexp-extended -r=--regexp-extended -i=--in-place -l=--line-length -s=--separate -u=--unbuffered -z=--null-data
sort | -o=--output -T=--temporary-directory -S=--buffer-size -k=--key -t=--field-separator -u=--unique -r=--reverse -n=--numeric-sort -c=--check -m=--merge -s=--stable -z=--zero-terminated -b=--ignore-leading-blanks -d=--dictionary-order -f=--ignore-case -g=--general-numeric-sort -h=--human-numeric-sort -i=--ignore-nonprinting -M=--month-sort -R=--random-sort -V=--version-sort
grep | -r=--recursive -R=--dereference-recursive -i=--ignore-case -v=--invert-match -n=--line-number -l=--files-with-matches -L=--files-without-match -c=--count -o=--only-matching -q=--quiet -s=--no-messages -w=--word-regexp -x=--line-regexp -e=--regexp -f=--file -E=--extended-regexp -F=--fixed-strings -P=--perl-regexp -G=--basic-regexp -m=--max-count -A=--after-context -B=--before-context -C=--context -a=--text -h=--no-filename -H=--with-filename -z=--null-data -Z=--null -b=--byte-offset -T=--initial-tab -U=--binary -d=--directories -D=--devices -y=--ignore-case
curl | -a=--append -A=--user-agent -b=--cookie -B=--use-ascii -c=--cookie-jar -C=--continue-at -d=--data -D=--dump-header -e=--referer -E=--cert -f=--fail -F=--form -g=--globoff -G=--get -H=--header -h=--help -i=--include -I=--head -j=--junk-session-cookies -J=--remote-header-name -k=--insecure -K=--config -l=--list-only -L=--location -m=--max-time -M=--manual -n=--netrc -N=--no-buffer -o=--output -O=--remote-name -p=--proxytunnel -P=--ftp-port -q=--disable -Q=--quote -r=--range -R=--remote-time -s=--silent -S=--show-error -t=--telnet-option -T=--upload-file -u=--user -U=--proxy-user -v=--verbose -V=--version -w=--write-out -x=--proxy -X=--request -Y=--speed-limit -y=--speed-time -z=--time-cond -Z=--parallel -0=--http1.0 -1=--tlsv1 -2=--sslv2 -3=--sslv3 -4=--ipv4 -6=--ipv6
wget | -O=--output-document -o=--output-file -a=--append-output -q=--quiet -v=--verbose -i=--input-file -B=--base -t=--tries -c=--continue -N=--timestamping -S=--server-response -T=--timeout -w=--wait -P=--directory-prefix -U=--user-agent -r=--recursive -l=--level -k=--convert-links -K=--backup-converted -m=--mirror -p=--page-requisites -A=--accept -R=--reject -D=--domains -H=--span-hosts -L=--relative -I=--include-directories -X=--exclude-directories -b=--background -e=--execute -x=--force-directories -E=--adjust-extension
rsync | -v=--verbose -q=--quiet -c=--checksum -a=--archive -r=--recursive -R=--relative -b=--backup -u=--update -l=--links -L=--copy-links -k=--copy-dirlinks -K=--keep-dirlinks -H=--hard-links -p=--perms -E=--executability -A=--acls -X=--xattrs -o=--owner -g=--group -t=--times -O=--omit-dir-times -S=--sparse -n=--dry-run -W=--whole-file -x=--one-file-system -B=--block-size -e=--rsh -f=--filter -z=--compress -h=--human-readable -i=--itemize-changes -m=--prune-empty-dirs -0=--from0 -s=--secluded-args -y=--fuzzy -I=--ignore-times -M=--remote-option -T=--temp-dir -4=--ipv4 -6=--ipv6
make | -B=--always-make -C=--directory -e=--environment-overrides -f=--file -i=--ignore-errors -I=--include-dir -j=--jobs -k=--keep-going -l=--load-average -n=--just-print -o=--old-file -p=--print-data-base -q=--question -r=--no-builtin-rules -R=--no-builtin-variables -s=--silent -S=--no-keep-going -t=--touch -w=--print-directory -W=--what-if -E=--eval
docker run | -d=--detach -e=--env -h=--hostname -i=--interactive -l=--label -m=--memory -p=--publish -P=--publish-all -q=--quiet -t=--tty -u=--user -v=--volume -w=--workdir
docker exec | -d=--detach -e=--env -i=--interactive -t=--tty -u=--user -w=--workdir
docker rm | -f=--force -l=--link -v=--volumes
docker rmi | -f=--force
kubectl delete | -f=--filename -k=--kustomize -l=--selector -n=--namespace -A=--all-namespaces -o=--output -R=--recursive -s=--server
kubectl apply | -f=--filename -k=--kustomize -l=--selector -n=--namespace -o=--output -R=--recursive -s=--server
npm install | -g=--global -D=--save-dev -E=--save-exact -O=--save-optional -P=--save-prod -B=--save-bundle -f=--force -w=--workspace
npm publish | -w=--workspace
pip install | -r=--requirement -c=--constraint -e=--editable -t=--target -U=--upgrade -i=--index-url -f=--find-links -I=--ignore-installed -q=--quiet -v=--verbose
`

var twins = sync.OnceValue(func() map[string]map[string]string {
	out := map[string]map[string]string{}
	for line := range strings.SplitSeq(strings.TrimSpace(twinLines), "\n") {
		name, pairs, _ := strings.Cut(line, " | ")
		m := map[string]string{}
		for _, p := range strings.Fields(pairs) {
			short, long, _ := strings.Cut(p, "=")
			m[short] = long
		}
		out[name] = m
	}
	return out
})

// Twins returns, for a program with its sub-command ("git commit"), the long option that each short one stands for. Known is
// false when the program is not listed: then any short option might stand for any long one.
func Twins(command string) (long map[string]string, known bool) {
	long, known = twins()[command]
	return long, known
}
