package memory

// foreign is not known here.
func foreign(string) bool { return false }
