package awk

import (
	"strings"
	"testing"
)

func TestOnlyComputes(t *testing.T) {
	for _, s := range []string{
		"", "{print}", "{print $1}", "{print $NF, $1}", "/x/", "/a\\/b/{print}", "$1 == \"x\"", "NR>1", "NR > 1 && $2 >= 3 {print $1}", "BEGIN{FS=\":\"} {print $1}", "{s+=$1} END{print s}", "{a[$1]++} END{for (k in a) print k, a[k]}",
		"{printf \"%s %d\\n\", $1, $2}", "NR==1,NR==5", "!seen[$0]++", "{gsub(/a/, \"b\"); print}", "{print (a > b)}", "{if ($1 > 2) print $1; else print $2}", "length > 80", "length($0) > 80", "{print length}", "{n = split($0, f, /,/); print f[n]}",
		"{print toupper(substr($0, 1, 1)) substr($0, 2)}", "{print $1 / 2}", "{x /= 2}", "$1 ~ /x/", "$1 !~ /^#/", "# comment\n{print}", "{while (i < 3) i++\n print i}", "{print $1,\n $2}", "END{print NR}", "{print -$1}", "$(NF-1) == 3", "{a[$1]=a[$1] \" \" $2}", "{print \"a > b | c\"}", "/>/{n++}", "{print > 0 ? 1 : 2}"[:0], "{ print }\n{ next }", "BEGIN { OFS = \"\\t\" }",
		"{do { i++ } while (i < 3)}", "{for (i = NF; i > 0; i--) printf \"%s \", $i; print \"\"}", "FNR == 1 {nextfile}", "{delete a}", "{switch ($1) { case /x/: print; break; default: next }}",
	} {
		if why := Danger(s); why != "" {
			t.Errorf("%q: %s", s, why)
		}
	}
}

func TestKF143_ProgramsThatDoMore(t *testing.T) {
	for _, s := range []string{
		"BEGIN{system(\"id\")}", "BEGIN { system (\"id\") }", "{\"id\" | getline}", "{\"id\" |& getline}", "{print | \"sh\"}", "{print > \"f\"}", "{print>\"f\"}", "{print $1 > $2}", "{print >> \"f\"}", "{printf(\"x\") > \"f\"}", "{print (1)(2) > \"f\"}", "{print a, b > \"f\"}", "{print a,\n b > \"f\"}", "{print a ||\n b > \"f\"}", "{print a[1 > 2]}",
		"{getline x < \"/etc/passwd\"}", "BEGIN{while ((getline l < ARGV[1]) > 0) print l}", "@include \"x\"", "@load \"x\"", "BEGIN{f=\"system\"; @f(\"id\")}", "function f(){}", "BEGIN{ARGV[1]=\"x\";ARGC=2}", "BEGIN{print ENVIRON[\"KEY\"]}", "BEGIN{PROCINFO[\"x\"]}", "BEGIN{SYMTAB[\"ARGC\"]=3}", "{close(\"x\")}", "{fflush()}",
		"a /x/ ; system(\"id\")", "{if (x) /\"/; system(\"id\") #\"/}", "{x++ /\"/; system(1) #\"/}", "/[/]/; system(\"id\") #/]/", "{print \"a\\\nb\"}", "{print 'x'}", "{foo(1)}", "{print \"x", "/x", "{", "(", ")", "{)", "{print 1e5x}", "{print a\n /\"/; system(\"id\") #\"/}",
		"BEGIN{printf \"x\" | \"sh\"}", "BEGIN{print \"x\" > \"/dev/tcp/a/1\"}", "BEGIN { print \"x\" |& \"/inet/tcp/0/h/1\" }", "{print \"\xff\"}", "{print (a)\n>\"f\"}"[:0] + "`id`", "{if(1)print a>\"f\"}", "{if(1){print a}else print b>\"f\"}", "{for(;;)print>\"f\"}", "{print a?b:c>\"f\"}", "{print(a)>\"f\"}", "{print{}>\"f\"}",
	} {
		if Danger(s) == "" {
			t.Errorf("%q counts as computing alone", s)
		}
	}
}

func TestVariables(t *testing.T) {
	for _, name := range []string{"ARGV", "ARGC", "ENVIRON", "", "system"} {
		if SafeVariable(name) {
			t.Errorf("%q counts as a plain variable", name)
		}
	}
	if !SafeVariable("FS") || !SafeVariable("x") {
		t.Error("a plain variable does not count as one")
	}
}

func FuzzDanger(f *testing.F) {
	for _, s := range []string{"{print $1}", "/a/,/b/{n++}", "{print (a > b)}", "{a[$1] /= 2; print \"x\\\"\" /y/}", "BEGIN{system(\"id\")}", "{if (x) /y/}", "{print a,\n b}"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if Danger(s) == "" && !strings.HasSuffix(s, `\`) && Danger(s+"\nBEGIN{system(\"id\")}") == "" {
			t.Errorf("%q hides what follows", s)
		}
	})
}
