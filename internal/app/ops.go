package app

import (
	"context"
	"fmt"
	"strings"

	"github.com/myelin-agent/myelin/internal/core/proto"
	"github.com/myelin-agent/myelin/internal/feature/permission"
)

// cmdPermissions lists rules and decisions, or changes the rules of this session.
func cmdPermissions(_ context.Context, r *rooms, args string) (string, error) {
	verb, rule, _ := strings.Cut(args, " ")
	switch rule = strings.TrimSpace(rule); verb {
	case "":
		return listPermissions(r), nil
	case "allow", "ask", "deny", "remove":
		parsed, err := permission.ParseRule(rule)
		if err != nil {
			return "", fmt.Errorf("rule %q: %w", rule, err)
		}
		value := proto.RuleValue{ToolName: parsed.Tool, RuleContent: parsed.Specifier}
		if verb == "remove" {
			for _, b := range []string{"allow", "ask", "deny"} {
				r.rights.grant(proto.PermissionUpdate{Type: "removeRules", Behavior: b, Destination: "session", Rules: []proto.RuleValue{value}})
			}
			return "Removed from the rules of this session: " + rule, nil
		}
		r.rights.grant(proto.PermissionUpdate{Type: "addRules", Behavior: verb, Destination: "session", Rules: []proto.RuleValue{value}})
		return fmt.Sprintf("%s for this session: %s", verb, rule), nil
	}
	return "", fmt.Errorf("/permissions %s: expected nothing, or allow, ask, deny or remove with a rule", verb)
}
