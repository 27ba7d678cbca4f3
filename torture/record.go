package torture

import "holdfast.dev/torture/internal/report"

// trackRecord is what torture has found in Holdfast so far. Each is kept as a test that fails without its mending.
var trackRecord = []report.Bug{}
