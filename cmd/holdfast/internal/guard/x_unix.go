package guard

import _ "golang.org/x/sys/unix"
