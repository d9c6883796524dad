package shellsyntax

import (
	"strings"
	"sync"
)

// commandLines is the table of programs whose options and operands are known. Sources are the
// manual pages of GNU coreutils 9, findutils, grep, ripgrep 14, fd 9, curl 8, tar 1.34 and their like; for
// what only reads, only options listed here count (attribute any: all others are harmless too).
//
// Attributes: ro only reads · any other options are harmless · glob patterns are harmless · file its
// purpose is to change files · single long options with one dash · nodash the first word is options ·
// digits -NUM is an option. op= says what operands are:
//
//	t    text                   r    files that are read         w    files that are written
//	p    pattern, then files    pR   the same, read below        d    files that are removed
//	1w   text, then written     rw   one read, one written       cp mv ln  sources and target
//	R    read below             dd   name=value                  url  hosts        remote  files or host:path
//	-    anything: every word may be a file
//
// Marks of options are those of parseOption.
const commandLines = `
cat | ro any glob op=r |
tac nl rev od hexdump base64 base32 md5sum sha1sum sha224sum sha256sum sha384sum sha512sum b2sum cksum sum strings column expand unexpand fold paste join iconv look zcat bzcat xzcat zstdcat zgrep yq bat less more view vimdiff colordiff xmllint pygmentize batcat | any op=r |
cut | any op=r | -b: -c: -d: -f: --bytes: --characters: --delimiter: --fields: --output-delimiter:
head | ro any glob digits op=r | -n: -c: --lines: --bytes:
tail | ro any glob digits op=r | -n: -c: -s: --lines: --bytes: --pid: --sleep-interval: --max-unchanged-stats:
wc | ro any glob op=r | --files0-from<
ls dir vdir | ro any glob op=r | -I: -w: -T: --ignore: --hide: --width: --tabsize: --block-size: --format: --sort: --time: --time-style: --color? --indicator-style: --quoting-style:
stat | ro any glob op=r | -c: --format: --printf: --cached:
du | ro any glob op=r | -B: -d: -t: -X< --block-size: --max-depth: --threshold: --exclude: --exclude-from< --files0-from< --time? --time-style:
echo | ro any glob op=t |
pwd | ro any op=t |
true false : | ro any glob op=t |
which | ro any glob op=t |
seq | ro any op=t | -f: -s: --format: --separator:
expr | ro any op=t |
fmt | ro any glob digits op=r | -p: -g: -w: --prefix: --goal: --width:
pr | ro any glob op=r | -D: -h: -l: -N: -o: -w: -W: --header: --length: --indent: --width: --page-width: --date-format: --first-line-number:
numfmt | ro any op=t | -d: --delimiter: --field: --format: --from: --from-unit: --grouping --header? --invalid: --padding: --round: --suffix: --to: --to-unit:
tsort | ro any op=r |
comm | ro any glob op=r | --output-delimiter:
cmp | ro any glob op=r | -i: -n: --ignore-initial: --bytes:
diff | ro any glob op=r | -C: -U: -F: -I: -S: -x: -X< -W: -r@ --recursive@ --context? --unified? --show-function-line: --ignore-matching-lines: --starting-file: --exclude: --exclude-from< --from-file< --to-file< --width: --label: --tabsize: --ifdef: --horizon-lines: --color? --palette:
uniq | ro any op=rw | -f: -s: -w: --skip-fields: --skip-chars: --check-chars: --all-repeated? --group?
getconf | ro op=t | -a
tput | ro op=t | -T: -V
pgrep | ro any op=t | -F< -d: -g: -G: -P: -s: -t: -u: -U: -r: --pidfile< --delimiter: --pgroup: --group: --parent: --session: --terminal: --euid: --uid: --ns: --nslist: --runstates: --signal: --env:
lsof | ro op=r | -a -b -c: -d: -g? -h -i? -l -L? -n -N -o -O -p: -P -R -s? -S? -t -T? -u: -U -v -V -w -X -x? -Z? -F?
ss | ro op=t | -h -V -H -O -n -r -a -l -B -o -e -m -p -T -i -s -b -E -Z -z -N: -4 -6 -0 -t -u -d -w -x -S -f: -A: --help --version --no-header --oneline --numeric --resolve --all --listening --bound-inactive --options --extended --memory --processes --threads --info --tos --cgroup --summary --bpf --events --context --contexts --net: --ipv4 --ipv6 --packet --tcp --udp --dccp --raw --unix --sctp --vsock --tipc --xdp --mptcp --family: --query: --socket: -D> -F< -K~ --diag> --filter< --kill~
file | ro op=r | -b -i -k -L -h -n -N -0 -r -S -v -e: -F: -P: --brief --mime --mime-type --mime-encoding --keep-going --dereference --no-dereference --no-buffer --no-pad --print0 --raw --no-sandbox --version --exclude: --exclude-quiet: --separator: --parameter: --extension --apple --help -m! -f! -C! -z! -Z! -c! -s! --magic-file! --files-from! --compile! --uncompress! --special-files! --checking-printout!
grep egrep fgrep | ro any glob digits op=p | -e^ -f^< -A: -B: -C: -m: -d: -D: -r@ -R@ --recursive@ --dereference-recursive@ --regexp^ --file^< --after-context: --before-context: --context: --max-count: --label: --include: --exclude: --exclude-dir: --exclude-from< --binary-files: --color? --colour? --directories: --devices: --group-separator:
rg ripgrep | ro op=pR | -e^ -f^< -A: -B: -C: -m: -M: -d: -E: -g: -t: -T: -j: -r: -i -n -N -S -s -w -x -v -c -l -o -q -u -U -P -F -a -b -h -H -I -p -V -0 -. --regexp^ --file^< --after-context: --before-context: --context: --max-count: --max-columns: --max-depth: --maxdepth: --encoding: --glob: --iglob: --type: --type-not: --threads: --replace: --ignore-case --line-number --no-line-number --smart-case --case-sensitive --word-regexp --line-regexp --invert-match --count --count-matches --files-with-matches --files-without-match --only-matching --quiet --unrestricted --multiline --multiline-dotall --pcre2 --fixed-strings --text --byte-offset --with-filename --no-filename --pretty --version --null --hidden --no-hidden --no-ignore --no-ignore-vcs --no-ignore-parent --no-ignore-dot --no-ignore-global --no-config --no-messages --files --type-list --heading --no-heading --color: --colors: --column --no-column --json --stats --trim --vimgrep --sort: --sortr: --sort-files --max-filesize: --path-separator: --line-buffered --block-buffered --crlf --debug --trace --engine: --dfa-size-limit: --regex-size-limit: --context-separator: --field-match-separator: --field-context-separator: --passthru --one-file-system --null-data --mmap --no-mmap --include-zero --help --ignore-file< --ignore-file-case-insensitive --pre!: --pre-glob: --hostname-bin!: -z! --search-zip! -L~ --follow~ --type-add: --type-clear: --hyperlink-format:
fd fdfind | ro op=p | -H -I -u -s -i -g -F -a -p -0 -1 -q -h -V -d: -t: -e: -E: -S: -c: -j: -o: -l! -x!: -X!: -L~ --hidden --no-ignore --no-ignore-vcs --no-ignore-parent --no-global-ignore-file --unrestricted --case-sensitive --ignore-case --glob --regex --fixed-strings --and: --absolute-path --relative-path --full-path --print0 --quiet --show-errors --help --version --max-depth: --min-depth: --exact-depth: --type: --extension: --exclude: --size: --changed-within: --changed-before: --change-newer-than: --change-older-than: --newer: --older: --owner: --color: --threads: --max-results: --base-directory< --search-path< --path-separator: --ignore-file< --one-file-system --strip-cwd-prefix? --prune --format: --list-details! --exec!: --exec-batch!: --batch-size: --follow~
sort | ro op=r | -b -c? -C -d -f -g -h -i -k: -M -m -n -R -r -s -S: -t: -u -V -z -o> -T: --ignore-leading-blanks --check? --dictionary-order --ignore-case --general-numeric-sort --human-numeric-sort --ignore-nonprinting --key: --month-sort --merge --numeric-sort --random-sort --reverse --stable --buffer-size: --field-separator: --unique --version-sort --zero-terminated --parallel: --batch-size: --debug --sort: --help --version --output> --temporary-directory~: --compress-program!: --files0-from< --random-source<
sed gsed | ro op=sed | -n -E -r -u -s -z -b -e{ -f{< -l: -i=? --quiet --silent --regexp-extended --unbuffered --separate --null-data --binary --expression{ --file{< --line-length: --in-place=? --posix --debug --sandbox --help --version --follow-symlinks~
jq gojq jaq | op=jq |
awk gawk mawk nawk original-awk | ro op=awk | -F: -v: -f{< -i!: -l!: -e{ -E{< -b -c -C -d>? -D! -o>? -p>? -L? -I -M -n -N -O -P -r -s -S -t -V --field-separator: --assign: --file{< --include!: --load!: --source{ --exec{< --characters-as-bytes --traditional --dump-variables>? --debug!? --pretty-print>? --profile>? --lint? --posix --sandbox
xxd | op=rw | -c: -g: -l: -s: -o: -n: -R:
tee | any file op=w | --output-error?
touch | any file op=w | -d: -r< -t: --date: --reference< --time:
mkdir | any file op=w | -m: --mode: --context?
rmdir | any file op=d |
rm | any file op=d | --interactive? --preserve-root?
unlink shred | any file op=w | -n: -s: --iterations: --size: --random-source<
cp | any file op=cp | -t/ -S: -Z --target-directory/ --suffix: --backup? --context? --preserve? --no-preserve: --reflink? --sparse: --update?
mv | any file op=mv | -t/ -S: --target-directory/ --suffix: --backup? --update?
ln | any file op=ln | -t/ -S: --target-directory/ --suffix: --backup?
install | any file op=cp | -t/ -S: -g: -m: -o: --target-directory/ --suffix: --backup? --group: --mode: --owner: --context? --strip-program!:
chmod chown chgrp chattr setfacl chcon | any file op=1w | --reference< --from:
truncate | any file op=w | -s: -r< --size: --reference<
mkfifo mknod mktemp | any file op=w | -m: -p+ --mode: --tmpdir? --suffix:
dd | any file op=dd |
split csplit | any op=r | -a: -b: -C: -l: -n: -t: --bytes: --lines: --number: --filter!: --suffix-length: --additional-suffix: --line-bytes:
tar bsdtar gtar | nodash any file op=tar | -f> -C+ -T< -X< -I!: -F!: -g> -K: -N: -L: -b: -H: -V: -s: --file> --directory+ --files-from< --exclude-from< --use-compress-program!: --info-script!: --new-volume-script!: --to-command!: --checkpoint? --checkpoint-action!: --rsh-command!: --rmt-command!: --listed-incremental> --exclude: --transform: --xform: --strip-components: --owner: --group: --mode: --mtime: --newer: --after-date: --format: --index-file> --level: --warning: --one-top-level? --suffix: --label: --blocking-factor: --record-size: --starting-file: --tape-length:
zip | any file op=zip | -T -t: -i: -x: -b+ -n: -O> -P: -s: --output-file> --temp-path: --password: --unzip-command!:
unzip | any file op=1r | -d> -x: -P:
gzip gunzip bzip2 bunzip2 xz unxz zstd unzstd lzma compress uncompress | any file op=w | -S: -o> -D<
7z 7za 7zr rar unrar | any file op=1w |
rsync | any file op=remote | -e!: -f: -B: -T+ -M: --rsh!: --rsync-path!: --filter: --exclude: --include: --exclude-from< --include-from< --files-from< --log-file> --backup-dir> --suffix: --temp-dir+ --partial-dir> --compare-dest< --copy-dest< --link-dest< --password-file< --early-input< --write-batch> --only-write-batch> --read-batch< --chmod: --chown: --usermap: --groupmap: --max-size: --min-size: --bwlimit: --timeout: --contimeout: --port: --sockopts: --out-format: --log-file-format: --info: --debug: --iconv: --address: --block-size: --compress-level: --compress-choice: --checksum-choice: --max-delete: --modify-window: --protocol: --remote-option!: --outbuf: --stop-after: --stop-at: --skip-compress: --checksum-seed: --delay-updates --config!:
scp sftp | any op=remote | -S!: -F% -o{ -i< -P: -c: -D!: -J: -l: -X: -b< -B: -s:
ssh autossh mosh | any op=url | -S!: -F% -o{ -i< -p: -l: -b: -B: -c: -D: -E> -e: -I!: -J: -L: -m: -O: -Q: -R: -W: -w: --ssh!: --client!: --server!:
curl | any op=url | -o> -O* -J -d& -F&= -T< -K% -b& -c> -D> -E< -H& -u: -A: -e: -x: -X: -m: -w& -Y: -y: -z: -r: -C: -Q: -P: -U: -t: -h? --output> --remote-name* --remote-name-all* --output-dir> --data& --data-ascii& --data-binary& --data-raw: --data-urlencode&= --url-query&= --json& --form&= --form-string: --upload-file< --config% --cookie& --cookie-jar> --dump-header> --cert< --key< --cacert< --capath< --crlfile< --proxy-cacert< --proxy-capath< --proxy-cert< --proxy-key< --header& --proxy-header& --user: --user-agent: --referer: --proxy: --request: --max-time: --connect-timeout: --write-out& --retry: --retry-delay: --retry-max-time: --url: --trace> --trace-ascii> --stderr> --netrc-file< --unix-socket< --abstract-unix-socket: --resolve: --connect-to: --interface: --limit-rate: --range: --max-redirs: --max-filesize: --time-cond: --ciphers: --tls-max: --engine!: --pubkey< --egd-file< --random-file< --hsts> --alt-svc> --etag-save> --etag-compare< --libcurl> --doh-url: --dns-servers: --noproxy: --socks5: --socks5-hostname: --socks4: --socks4a: --preproxy: --proto: --proto-default: --proto-redir: --aws-sigv4: --oauth2-bearer: --quote: --postquote: --prequote: --mail-from: --mail-rcpt: --login-options: --service-name: --ftp-port: --ftp-account: --ftp-method: --krb: --local-port: --keepalive-time: --speed-limit: --speed-time: --continue-at: --create-file-mode: --variable&=
wget wget2 | any op=url | -O> -o> -a> -P> -i< -B: -e!: -t: -T: -w: -Q: -U: -l: -A: -R: -D: -I: -X: --output-document> --output-file> --append-output> --directory-prefix> --input-file< --base: --execute!: --config% --use-askpass!? --post-file< --body-file< --post-data: --body-data: --load-cookies< --save-cookies> --header: --user: --password: --user-agent: --referer: --ca-certificate< --certificate< --private-key< --crl-file< --ca-directory< --warc-file> --warc-cdx --warc-dedup< --tries: --timeout: --wait: --quota: --level: --accept: --reject: --domains: --exclude-domains: --include-directories: --exclude-directories: --limit-rate: --method: --hsts-file> --rejected-log> --default-page: --progress: --bind-address: --http-user: --http-password: --proxy-user: --proxy-password: --cut-dirs: --max-redirect: --dns-servers:
http https xh xhs | any op=url | -o> -a: -A: --output> --auth: --auth-type: --session: --cert< --cert-key< --verify<
ftp telnet nc ncat netcat socat ping ping6 traceroute dig host nslookup whois nmap openssl mtr | any op=url |
go | any single op=- | -exec!: -toolexec!: -vettool!: -C+ -overlay< -modfile< -o: -p: -run: -bench: -count: -timeout: -tags: -ldflags: -gcflags: -asmflags: -gccgoflags: -mod: -buildmode: -compiler: -coverprofile: -cpuprofile: -memprofile: -outputdir: -fuzz: -fuzztime: -benchtime: -cpu: -parallel: -covermode: -coverpkg: -blockprofile: -mutexprofile: -trace: -pkgdir: -installsuffix: -pgo: -list: -skip: -shuffle: -vet: -f:
npm pnpm | any op=- | -C+ --script-shell!: --prefix+ --dir+ --shell!: --userconfig% --globalconfig% --node-options!: --git!: --viewer!: --editor!: --init-module!: --workspace: --registry: -w: --filter: --omit: --tag: --loglevel: --cache:
yarn bun | any op=- | --cwd+ --script-shell!: --use-yarnrc% --config% --preload!:
make gmake | any op=make | -C+ -f< -I: -W: -o: -j? -l? --directory+ --file< --makefile< --eval!: --include-dir: --old-file: --new-file: --what-if: --assume-old: --assume-new: --jobs? --load-average? --debug? --output-sync? --shuffle?
vim vi nvim ex gvim rvim | any op=w | -c!: -S!: -s!: -u!: -U!: -w> -W> -i: -r -t: -T: --cmd!: --startuptime> --listen: --remote-expr!: --remote-send!:
emacs | any op=w | -l!: -f!: -e!: --load!: --eval!: --execute!: --funcall!: --script!: --insert< --batch
nano pico micro ed joe code | any op=w |
man | any op=- | -P!: -H!? -C! -p!: -E: -L: -R: -m: -M: -S: -s: -e: -r: -T? -X? -t -K --pager!: --html!? --config-file!: --preprocessor!: --extension: --locale: --prompt!: --manpath! --sections: --troff-device? --encoding:
gdb lldb | any op=r | -ex!: -x!: -iex!: -ix!: --eval-command!: --command!: -o!: -s!: --one-line!: --source!:
mysql mariadb | any op=- | -e{ --execute{ --defaults-file% --defaults-extra-file% --init-command{ --pager!? --tee> -h: -u: -P: -D: --host: --user: --port: --database:
sqlite3 | any op=sqlite | -cmd{ -init!:
psql | any op=- | -c{ -f< -o> -L> -h: -U: -p: -d: -v: --command{ --file< --output> --log-file> --host: --username: --port: --dbname:
docker podman nerdctl | any op=docker | -H!: -c!: --host!: --context!: --config% --url!: --connection!: --identity!: --tlscacert< --tlscert< --tlskey< -l: --log-level: --root!: --runroot!: --runtime!: --storage-driver: --namespace:
kubectl oc helm | any op=- | --kubeconfig% --context!: --cluster!: --server!: --token: -s!: -n: --namespace: -f< --filename< -k< --kustomize< -l: --selector: -o: --output: --as: --post-renderer!: --values<
crontab at batch systemd-run atrm | any op=-schedule |
source . | op=r |
patch | any file op=w | -i< -o> -r> -d+ --input< --output> --reject-file> --directory+ -p: -D: -F: -V: -B: -z: --strip:
env printenv | any op=- |
python python3 python2 pypy pypy3 perl ruby node deno php lua Rscript bash sh zsh dash ksh fish tclsh | any op=- |
pip pip3 uv | any op=- | -r< -c< -t> -e: -i: --requirement< --constraint< --target> --prefix> --root> --python: --config-file%
cargo | any op=- | --config! --manifest-path: --target-dir: -Z: --features: -p: --package: --bin: --example: --test: --bench: --target: --profile: -j:
terraform tofu | any single op=- | -chdir+ -var-file< -out: -state:
gh | any op=- | -F< --body-file< -b: -t: -R: --repo:
git | op=git |
find | op=find |
cd pushd popd chdir | op=cd |
test [ [[ | op=test |
printf | op=printf |
command | ro op=t | -v -V -p
`

// specs is the table by program name.
var specs = sync.OnceValue(func() map[string]*spec {
	out := map[string]*spec{}
	for line := range strings.SplitSeq(commandLines, "\n") {
		if strings.TrimSpace(line) == "" {
			continue
		}
		names, s := parseSpec(line)
		for _, n := range names {
			out[n] = s
		}
	}
	return out
})
