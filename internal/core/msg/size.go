package msg

// MediaSize stands for a picture or document in [Size]: their bytes say nothing of their tokens.
const MediaSize = 6000

// Size is about how many bytes of text the blocks are to a model, the measure of estimates. It
// looks at lengths alone and is cheap.
func Size(content []Block) int {
	n := 0
	for _, b := range content {
		switch b := b.(type) {
		case Text:
			n += len(b.Text)
		case Thinking:
			n += len(b.Thinking) + len(b.Data)
		case RedactedThinking:
			n += len(b.Data)
		case ToolCall:
			n += len(b.ID) + len(b.Name) + len(b.Input) + len(b.Malformed) + len(b.Extra)
		case ToolResult:
			n += len(b.CallID) + Size(b.Content)
		case Unknown:
			n += len(b.Raw)
		default:
			n += MediaSize
		}
	}
	return n
}

// Sizes are the sizes of the beginnings of a conversation that grows. The zero value knows none yet.
type Sizes struct {
	source Prefix
	sums   []int // of the first message, of the first two, …
}

// Of is the size of the first n messages.
func (z *Sizes) Of(messages []Message, n int) int {
	if !z.source.Begins(messages) {
		*z = Sizes{}
	}
	sum := 0
	if have := len(z.sums); have > 0 {
		sum = z.sums[have-1]
	}
	for _, m := range messages[len(z.sums):] {
		sum += Size(m.Content)
		z.sums = append(z.sums, sum)
	}
	z.source = PrefixOf(messages)
	if n == 0 {
		return 0
	}
	return z.sums[n-1]
}
