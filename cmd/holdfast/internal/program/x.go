package program

import _ "github.com/spf13/cobra"
import _ "holdfast.dev/filelock"
