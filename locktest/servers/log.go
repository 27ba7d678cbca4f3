package servers

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
)

// tailSize is how much of a log an error repeats.
const tailSize = 4096

func (s *Server) logFile() string { return filepath.Join(s.dir, "log") }

// openLog opens the log of all runs, and says how long it is.
func (s *Server) openLog() (*os.File, int64, error) {
	file, err := os.OpenFile(s.logFile(), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, 0, err
	}
	info, err := file.Stat()
	if err != nil {
		file.Close()
		return nil, 0, err
	}
	return file, info.Size(), nil
}

// tail reads the end of a log, from an offset on, at most tailSize bytes of it, in whole lines.
func tail(path string, from int64) string {
	file, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return ""
	}
	start := max(from, info.Size()-tailSize)
	text, _ := io.ReadAll(io.NewSectionReader(file, start, tailSize))
	if start > from { // in the middle of a line, probably
		_, text, _ = bytes.Cut(text, []byte("\n"))
	}
	return string(text)
}
