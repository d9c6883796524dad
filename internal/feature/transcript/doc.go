// Package transcript keeps conversations. A session's transcript is a file of records, one a line,
// that is only ever appended to; so are the sidechains of its subagents and the history of prompts
// that all sessions share. A reader puts together from it what a model shall see again, whatever
// moment the program was killed at and whoever wrote the file.
//
// The records have the public shape that the Agent SDKs read, list, rename and delete by
// themselves: projects/<key>/<session>.jsonl below the home, with uuid and parentUuid as a chain,
// and metadata lines for titles and tags. Ours also have a version ("v") and, where the public
// shape has no place for something, a key "myelin". Keys nobody here knows are kept.
//
// It does not decide what is compacted, shows nothing, and deletes nothing by itself.
//
// Begin with [Shelf]: it knows where transcripts are, lists them and finds one by id or title. Then
// [Create] or [Open] give a [Transcript] to append to, and [Load] reads one.
package transcript
