package confine

import (
	"slices"
	"strings"

	"github.com/myelin-agent/myelin/internal/feature/config"
)

// scrubVar is the variable that keeps keys from every program that is started.
const scrubVar = "MYELIN_SUBPROCESS_ENV_SCRUB"

// Scrubs reports whether keys of model and cloud services are kept from every program that is
// started. Any value but a clear no means that they are.
func Scrubs(env config.Environ) bool {
	text := strings.TrimSpace(env.Value(scrubVar))
	value, known := config.ParseBool(text)
	return text != "" && (value || !known)
}

// Scrub returns the lines NAME=value of an environment without keys of model and cloud services. It
// changes nothing in lines.
func Scrub(lines []string) []string {
	return slices.DeleteFunc(slices.Clone(lines), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return serviceKey(name)
	})
}

// serviceKey reports a variable that holds, or leads to, a key of a model or cloud service.
func serviceKey(name string) bool {
	if slices.Contains(serviceKeys, name) {
		return true
	}
	for _, service := range services {
		rest, ok := strings.CutPrefix(name, service)
		if ok && slices.ContainsFunc([]string{"KEY", "TOKEN", "SECRET", "CREDENTIAL", "PASSWORD", "_PAT", "CUSTOM_HEADERS"}, func(word string) bool { return strings.Contains(rest, word) }) {
			return true
		}
	}
	return false
}

// services are how the variables of model and cloud services begin.
var services = []string{
	"ANTHROPIC_", "CLAUDE_CODE_", "OPENAI_", "AZURE_", "GEMINI_", "GOOGLE_", "VERTEX_", "GCP_", "GCLOUD_", "CLOUDSDK_", "AWS_", "BEDROCK_",
	"OPENROUTER_", "MISTRAL_", "GROQ_", "XAI_", "DEEPSEEK_", "COHERE_", "CO_API_", "TOGETHER_", "FIREWORKS_", "CEREBRAS_", "PERPLEXITY_",
	"NVIDIA_", "HF_", "HUGGINGFACE_", "HUGGING_FACE_", "REPLICATE_", "MOONSHOT_", "DASHSCOPE_", "ZHIPU", "CLOUDFLARE_", "DIGITALOCEAN_",
	"HCLOUD_", "LINODE_", "ORACLE_", "OCI_", "IBMCLOUD_", "ALIBABA_", "ALICLOUD_", "ARM_", "VERCEL_", "AI_GATEWAY_",
}

// serviceKeys are those whose name does not say it.
var serviceKeys = []string{
	"GOOGLE_APPLICATION_CREDENTIALS", "AWS_CONTAINER_CREDENTIALS_FULL_URI", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
	"AZURE_CLIENT_CERTIFICATE_PATH", "AZURE_FEDERATED_TOKEN_FILE", "ACTIONS_ID_TOKEN_REQUEST_TOKEN", "ACTIONS_ID_TOKEN_REQUEST_URL",
}
