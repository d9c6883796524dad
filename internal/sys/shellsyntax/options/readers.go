package options

// readerLines are the programs that only look, and those that read files and do more. Sources are the manual pages of GNU
// coreutils 9, findutils, grep, ripgrep 14, fd 9, procps 4, jq 1.7 and their like; for what only reads, only options
// listed here count (attribute any: all others are harmless too).
const readerLines = `
cat | ro any glob op=r |
head | ro any glob digits op=r | -n: -c: --lines: --bytes:
tail | ro any glob digits op=r | -n: -c: -s: --lines: --bytes: --pid: --sleep-interval: --max-unchanged-stats:
wc | ro any glob op=r | --files0-from<<
ls dir vdir | ro any glob op=r | -L~ -H~ -I: -w: -T: --dereference~ --dereference-command-line~ --dereference-command-line-symlink-to-dir~ --ignore: --hide: --width: --tabsize: --block-size: --format: --sort: --time: --time-style: --color? --indicator-style: --quoting-style:
stat | ro any glob op=r | -c: --format: --printf: --cached:
du | ro any glob op=r | -B: -d: -t: -X< --block-size: --max-depth: --threshold: --exclude: --exclude-from< --files0-from<< --time? --time-style:
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
file | ro op=r | -b -i -k -L -h -n -N -0 -r -S -v -e: -F: -P: --brief --mime --mime-type --mime-encoding --keep-going --dereference --no-dereference --no-buffer --no-pad --print0 --raw --no-sandbox --version --exclude: --exclude-quiet: --separator: --parameter: --extension --apple --help -m! -f<< -C! -z! -Z! -c! -s! --magic-file! --files-from<< --compile! --uncompress! --special-files! --checking-printout!
grep egrep fgrep | ro any glob digits op=p | -e^ -f^< -A: -B: -C: -m: -d: -D: -r@ -R@@ --recursive@ --dereference-recursive@@ --regexp^ --file^< --after-context: --before-context: --context: --max-count: --label: --include: --exclude: --exclude-dir: --exclude-from< --binary-files: --color? --colour? --directories: --devices: --group-separator:
rg ripgrep | ro op=pR | -e^ -f^< -A: -B: -C: -m: -M: -d: -E: -g: -t: -T: -j: -r: -i -n -N -S -s -w -x -v -c -l -o -q -u -U -P -F -a -b -h -H -I -p -V -0 -. --regexp^ --file^< --after-context: --before-context: --context: --max-count: --max-columns: --max-depth: --maxdepth: --encoding: --glob: --iglob: --type: --type-not: --threads: --replace: --ignore-case --line-number --no-line-number --smart-case --case-sensitive --word-regexp --line-regexp --invert-match --count --count-matches --files-with-matches --files-without-match --only-matching --quiet --unrestricted --multiline --multiline-dotall --pcre2 --fixed-strings --text --byte-offset --with-filename --no-filename --pretty --version --null --hidden --no-hidden --no-ignore --no-ignore-vcs --no-ignore-parent --no-ignore-dot --no-ignore-global --no-config --no-messages --files --type-list --heading --no-heading --color: --colors: --column --no-column --json --stats --trim --vimgrep --sort: --sortr: --sort-files --max-filesize: --path-separator: --line-buffered --block-buffered --crlf --debug --trace --engine: --dfa-size-limit: --regex-size-limit: --context-separator: --field-match-separator: --field-context-separator: --passthru --one-file-system --null-data --mmap --no-mmap --include-zero --help --ignore-file< --ignore-file-case-insensitive --pre!: --pre-glob: --hostname-bin!: -z! --search-zip! -L~ --follow~ --type-add: --type-clear: --hyperlink-format:
fd fdfind | ro op=p | -H -I -u -s -i -g -F -a -p -0 -1 -q -h -V -d: -t: -e: -E: -S: -c: -j: -o" -l! -x$ -X$ -L~ --hidden --no-ignore --no-ignore-vcs --no-ignore-parent --no-global-ignore-file --unrestricted --case-sensitive --ignore-case --glob --regex --fixed-strings --and: --absolute-path --relative-path --full-path --print0 --quiet --show-errors --help --version --max-depth: --min-depth: --exact-depth: --type: --extension: --exclude: --size: --changed-within: --changed-before: --change-newer-than: --change-older-than: --newer: --older: --owner: --color: --threads: --max-results: --base-directory< --search-path< --path-separator: --ignore-file< --one-file-system --strip-cwd-prefix? --prune --format: --list-details! --exec$ --exec-batch$ --batch-size: --follow~
sort | ro op=r | -b -c? -C -d -f -g -h -i -k: -M -m -n -R -r -s -S: -t: -u -V -z -o> -T~: --ignore-leading-blanks --check? --dictionary-order --ignore-case --general-numeric-sort --human-numeric-sort --ignore-nonprinting --key: --month-sort --merge --numeric-sort --random-sort --reverse --stable --buffer-size: --field-separator: --unique --version-sort --zero-terminated --parallel: --batch-size: --debug --sort: --help --version --output> --temporary-directory~: --compress-program$ --files0-from<< --random-source<
sed gsed | ro op=sed | -n -E -r -u -s -z -b -e{ -f{< -l: -i=? --quiet --silent --regexp-extended --unbuffered --separate --null-data --binary --expression{ --file{< --line-length: --in-place=? --posix --debug --sandbox --help --version --follow-symlinks~
awk gawk mawk nawk original-awk | ro op=awk | -F: -v: -f{< -i!: -l!: -e{ -E{< -b -c -C -d>? -D! -o>? -p>? -L? -I -M -n -N -O -P -r -s -S -t -V --field-separator: --assign: --file{< --include!: --load!: --source{ --exec{< --characters-as-bytes --traditional --dump-variables>? --debug!? --pretty-print>? --profile>? --lint? --posix --sandbox
printf | op=printf |
test [ [[ | op=test |
find | op=find |
cd pushd popd chdir | op=cd |
command | ro op=t | -v -V -p
date | ro op=date | -u -R -I? -d" --utc --universal --rfc-email --rfc-3339" --iso-8601? --date"
whoami arch | ro op=0 |
nproc | ro op=0 | --all --ignore:
id | ro op=t | -a -g -G -n -r -u -z -Z --group --groups --name --real --user --zero --context
groups | ro op=t |
hostname | ro op=0 | -f -s -i -I -d --fqdn --long --short --ip-address --all-ip-addresses --domain
uname | ro op=0 | -a -s -n -r -v -m -p -i -o --all --kernel-name --nodename --kernel-release --kernel-version --machine --processor --hardware-platform --operating-system
uptime | ro op=0 | -p -s --pretty --since
df | ro op=r | -a -h -H -i -k -l -m -T -P -B: -t: -x: --all --block-size: --human-readable --si --inodes --local --no-sync --output? --portability --total --type: --print-type --exclude-type:
free | ro op=0 | -b -k -m -g -h -l -t -v -w -L --bytes --kibi --mebi --gibi --kilo --mega --giga --human --si --lohi --total --wide --line
locale | ro op=t | -a -m -c -k --all-locales --charmaps --category-name --keyword-name
tty | ro op=0 | -s --silent --quiet
ps | ro op=ps | -A -a -d -e -N -T -f -F -l -j -y -H -L -m -M -c -w -x -p" -C" -G" -g" -s" -t" -u" -U" -o" -O" -q" --deselect --pid" --ppid" --Group" --group" --User" --user" --sid" --tty" --sort" --format" --forest --headers --no-headers --no-heading --cols" --columns" --width" --lines" --rows" --cumulative --quick-pid"
tree | ro op=r | -a -d -f -x -L" -P" -I" -p -s -h -u -g -D -F -q -N -Q -i -A -S -n -C -X -J -t -c -U -v -r --gitignore --ignore-case --matchdirs --metafirst --prune --info --noreport --charset" --filelimit" --timefmt" --du --si --inodes --device --sort? --dirsfirst --filesfirst --version --help
tr | ro any glob op=t |
cut | ro any glob op=r | -b" -c" -d" -f" --bytes" --characters" --delimiter" --fields" --output-delimiter"
nl | ro any glob op=r | -b" -d" -f" -h" -i: -l: -n: -s" -v: -w: --body-numbering" --section-delimiter" --footer-numbering" --header-numbering" --line-increment: --join-blank-lines: --number-format: --number-separator" --starting-line-number: --number-width:
paste | ro any glob op=r | -d" --delimiters"
fold | ro any glob op=r | -w: --width:
rev | ro any glob op=r |
tac | ro any glob op=r | -s" --separator"
column | ro any glob op=r | -c: -l: -s" -o" -N" -R" -T" -H" -W" -O" --separator" --output-separator" --output-width: --table-columns" --table-right" --table-hide" --table-truncate" --table-wrap" --table-order"
od | ro any glob op=r | -A: -j: -N: -S: -t: -w? --address-radix: --endian: --skip-bytes: --read-bytes: --strings? --format: --width?
hexdump hd | ro op=r | -b -c -C -d -o -v -x -X -n: -s: -e" -L? --one-byte-octal --one-byte-char --canonical --two-bytes-decimal --two-bytes-octal --two-bytes-hex --length: --skip: --no-squeezing --format" -f!: --format-file!:
strings | ro op=strings | -a -d -f -w -n: -t: -e: -o -s" -U: --all --data --print-file-name --bytes: --radix: --encoding: --include-all-whitespace --output-separator" --unicode:
md5sum sha1sum sha256sum cksum | ro glob op=r | -b -t -z -a: -l: --binary --text --zero --tag --untagged --algorithm: --length: --base64 --raw --debug -c~ --check~
basename | ro op=t | -a -s" -z --multiple --suffix" --zero
dirname | ro op=t | -z --zero
realpath | ro op=r | -e -E -m -L -P -q -s -z --canonicalize-existing --canonicalize-missing --canonicalize --logical --physical --quiet --strip --no-symlinks --zero --relative-to< --relative-base<
readlink | ro op=r | -f -e -m -n -q -s -v -z --canonicalize --canonicalize-existing --canonicalize-missing --no-newline --quiet --silent --verbose --zero
sleep | ro op=t |
type | ro op=t | -a -f -p -P -t
hash | ro op=hash | -r -t
exit return | ro op=t |
zipinfo | ro op=r | -1 -2 -s -m -l -v -h -t -z -T -M -C -Z
jq gojq jaq | op=jq |
base64 base32 sha224sum sha384sum sha512sum b2sum sum expand unexpand join iconv look zcat bzcat xzcat zstdcat zgrep vimdiff colordiff xmllint pygmentize | any op=r |
yq | op=r runs | -r -c -s -n -e -S -C -M -a -j -R -o: -p: -P -I: -N -0 -i= --inplace= --raw-output --compact-output --slurp --null-input --exit-status --sort-keys --colors --no-colors --output-format: --input-format: --prettyPrint --indent: --no-doc --unwrapScalar? --arg:: --argjson:: --tab --version --help -V -h
bat batcat | any op=r runs | -p -P -A -n -u -s -f -d -r: -H: -l: -m: -L -S -V -h --pager!: --paging: --plain --show-all --number --style: --color: --theme: --decorations: --language: --line-range: --highlight-line: --wrap: --tabs: --terminal-width: --squeeze-blank --force-colorization --diff --diff-context: --file-name" --list-languages --list-themes --no-pager --unbuffered --italic-text: --version --help
less more | any op=r runs | -N -S -R -i -n -F -X -e -E -M -m -s -r -f -c -q -u -G -g -I -J -W -w
env printenv | any op=- |
python python3 python2 pypy pypy3 perl ruby node deno php lua Rscript bash sh zsh dash ksh fish tclsh | any op=- |
`
