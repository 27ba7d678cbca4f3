package result

import (
	"encoding/json"
	"fmt"
	"os"
)

// Read reads a document that was written as JSON.
func Read(file string) (*Document, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	d := new(Document)
	if err := json.Unmarshal(text, d); err != nil {
		return nil, fmt.Errorf("%s is no document of --json: %w", file, err)
	}
	return d, nil
}
