package options

// fileLines are the programs whose purpose is to change, pack and unpack files. Sources are the manual pages of GNU
// coreutils 9, tar 1.35, Info-ZIP and their like.
const fileLines = `
xxd | op=rw | -c: -g: -l: -s: -o: -n: -R:
tee | any file op=w | --output-error?
touch | any file op=w | -d" -r< -t" --date" --reference< --time"
mkdir | any file op=w | -m: --mode: --context?
rmdir | any file op=d |
rm | any file op=d | --interactive? --preserve-root?
unlink shred | any file op=w | -n: -s: --iterations: --size: --random-source<
cp | any file op=cp | -t/ -S: -Z --target-directory/ --suffix: --backup? --context? --preserve? --no-preserve: --reflink? --sparse: --update?
mv | any file op=mv | -t/ -S: --target-directory/ --suffix: --backup? --update?
ln | any file op=ln | -t/ -S: --target-directory/ --suffix: --backup?
install | file op=cp | -t/ -S: -g: -m: -o: -b -c -C -d -D -p -s -v -T -Z --target-directory/ --suffix: --backup? --group: --mode: --owner: --context? --compare --directory --preserve-timestamps --strip --no-target-directory --verbose --strip-program!:
chmod chown chgrp chattr setfacl chcon | any file op=1w | --reference< --from:
truncate | any file op=w | -s: -r< --size: --reference<
mkfifo mknod mktemp | any file op=w | -m: -p+ --mode: --tmpdir? --suffix:
dd | any file op=dd |
split csplit | op=r | -a: -b: -C: -l: -n: -t: -d? -e -f: -k -q -s -u -x? -z --bytes: --lines: --number: --filter$ --suffix-length: --additional-suffix: --line-bytes: --numeric-suffixes? --hex-suffixes? --elide-empty-files --unbuffered --verbose --separator: --prefix: --suffix-format: --keep-files --digits: --quiet --silent
tar bsdtar gtar | nodash any file op=tar runs | -x -c -t -r -u -A -d -z -j -J -Z -a -v -k -m -p -o -h -l -O -w -W -R -U -B -i -n -M -S -G -f> -C+ -T<< -X< -I$ -F$ -P! -g> -K: -N: -L: -b: -H: -V: -s! --file> --directory+ --files-from<< --exclude-from< --use-compress-program$ --info-script$ --new-volume-script$ --to-command$ --checkpoint? --checkpoint-action$ --rsh-command$ --rmt-command$ --absolute-names! --listed-incremental> --exclude" --transform! --xform! --strip-components: --owner: --group: --mode: --mtime: --newer: --after-date: --format: --index-file> --level: --warning: --one-top-level>? --suffix: --label: --blocking-factor: --record-size: --starting-file: --tape-length: --extract --get --create --list --append --update --concatenate --catenate --delete --diff --compare --gzip --gunzip --bzip2 --xz --lzma --lzip --zstd --auto-compress --no-auto-compress --verbose --keep-old-files --skip-old-files --keep-newer-files --overwrite --touch --preserve-permissions --same-permissions --no-same-permissions --same-owner --no-same-owner --dereference --hard-dereference --one-file-system --to-stdout --interactive --confirmation --verify --wildcards --no-wildcards --wildcards-match-slash --anchored --no-anchored --ignore-case --numeric-owner --sort: --sparse --exclude-vcs --exclude-vcs-ignores --exclude-backups --exclude-caches --no-recursion --recursion --null --no-null --remove-files! --utc --full-time --totals? --show-transformed-names --block-number --ignore-zeros --ignore-failed-read --delay-directory-restore --unlink-first --recursive-unlink! --help --version --posix --old-archive --portability --pax-option: --acls --xattrs --selinux --no-acls --no-xattrs --no-selinux --quoting-style: --force-local
zip | file op=zip | -r -q -v -u -f -j -l -m -o -y -x: -i: -T -t: -b+ -n: -O> -P: -s: -d -e -g -k -D -X -Z: -9 -0 -1 -2 -3 -4 -5 -6 -7 -8 -F -A -J -@! -R --output-file> --temp-path: --password: --unzip-command$ --recurse-paths --quiet --verbose --update --freshen --junk-paths --move --exclude: --include: --test --delete --encrypt --symlinks --names-stdin!
unzip | ro file op=unzip | -l -v -Z -t -p -c -q -o -n -j -a -b -C -L -X -K -u -f -d> -x: -P: -z -: -M
gzip gunzip bzip2 bunzip2 xz unxz zstd unzstd lzma compress uncompress | any file op=w | -S: -o> -D<
7z 7za 7zr rar unrar | any file op=1w |
patch | any file op=w | -i< -o> -r> -d+ --input< --output> --reject-file> --directory+ -p: -D: -F: -V: -B: -z: --strip:
`
