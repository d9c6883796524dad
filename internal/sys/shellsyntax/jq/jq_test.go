package jq

import "testing"

func TestOnlyComputes(t *testing.T) {
	for _, s := range []string{
		".", ".a", ".a.b[0]", ".[]", ".[] | .name", ".a | length", "map(select(.x > 1))", ".[\"a b\"]", "to_entries[] | \"\\(.key)=\\(.value)\"", ".env", ".a.env", ".import", "{a, b: .c}", "[.[] | {name, v: .x}]", "if .a then 1 else 2 end", "reduce .[] as $x (0; . + $x)",
		"def f: .a; f", "def f(g; $x): g + $x; f(.a; 1)", "..", ".. | numbers", "keys", "\"a\\\"b\\(1 + 2)c\"", "@csv", "@base64 \"x\\(.a)\"", ".a?", ".a // \"x\"", "# all\n.", "sort_by(.a) | reverse | .[:3]", "$x", "$__loc__", "group_by(.k) | map({k: .[0].k, n: length})", ".[-1:]", "try error(\"x\") catch .", "input_filename", "1e3", "limit(3; .[])", "test(\"^a\"; \"i\")",
	} {
		if why := Danger(s); why != "" {
			t.Errorf("%q: %s", s, why)
		}
	}
}

func TestKF143_FiltersThatDoMore(t *testing.T) {
	for _, s := range []string{
		"env", "env.KEY", "$ENV", "$ENV.KEY", ". | env", "\"\\(env.KEY)\"", "\"\\(\"\\($ENV)\")\"", "import \"a\" as a; .", "include \"x\"; .", "import \"a\" as $a; .", "a::b", "$a::b", "modulemeta", "get_search_list", "getpath([\"a\"]) | modulemeta", "def f: env; f", "def f(x): x; f(env)", "foo", "\"x", "(", ")", "\"\\(1\"", "[}", "# \\\nenv", "`id`", "@x env", ". env", "{env :1}", "{a: env}", "{a: 1, b: env}", "[env]", "[1, env]", "{a::b}", "(.a)env", "input_filename | env", "\xff", "$", "ltrimstr(env)", ".[env]", "..env", "def f: 1; env",
	} {
		if Danger(s) == "" {
			t.Errorf("%q counts as computing alone", s)
		}
	}
}

func FuzzDanger(f *testing.F) {
	for _, s := range []string{".a | .b", "\"\\(.a)\"", "def f(x): x; f(.)", "{a: 1}", "$ENV", "# c\n.", ".[\"a\"]?", "@json"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if Danger(s) == "" && Danger(s+"\n| env") == "" {
			t.Errorf("%q hides what follows", s)
		}
	})
}
