package cli

import "github.com/spf13/cobra"

func (c *command) fakeAPICommand() *cobra.Command {
	if c.deps.FakeAPI == nil {
		return nil
	}
	r := FakeAPIRequest{}
	cmd := &cobra.Command{
		Use:   "fake-api --script FILE",
		Short: "Serve a scripted model over HTTP, as strictly as the real services",
		Args:  argsBetween(0, 0, "flags only"),
	}
	apis := []string{"anthropic", "openai-responses", "openai-chat", "gemini"}
	cmd.Flags().StringVar(&r.Script, "script", "", "the script (YAML or JSON)")
	cmd.Flags().StringVar(&r.API, "api", "anthropic", "anthropic, openai-responses, openai-chat or gemini")
	cmd.Flags().StringVar(&r.Listen, "listen", "127.0.0.1:0", "loopback address and port; 0: any free port")
	cmd.Flags().StringVar(&r.Log, "log", "", "write each request to this file as a line of JSON")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if r.Script == "" {
			return usagef("fake-api needs --script FILE")
		}
		if err := oneOf("api", r.API, true, apis...); err != nil {
			return err
		}
		r.Script = resolve(c.process.Cwd, r.Script)
		if r.Log != "" {
			r.Log = resolve(c.process.Cwd, r.Log)
		}
		ctx, cancel := c.interruptible(cmd.Context())
		defer cancel()
		return c.deps.FakeAPI(ctx, r, c.process.Out)
	}
	return cmd
}
