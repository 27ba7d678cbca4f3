package peers

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
)

// node runs a peer in Node.js, with the packages of a directory.
func node(packages, peer string) (*exec.Cmd, error) {
	path, err := exec.LookPath("node")
	if err != nil {
		return nil, fmt.Errorf("node is %w, or not in PATH: on Debian, apt-get install nodejs npm", ErrMissing)
	}
	packages, err = filepath.Abs(packages)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(filepath.Join(packages, "node_modules", peer)); err != nil {
		return nil, fmt.Errorf("the npm package %s is %w in %s: make interop installs it, with npm", peer, ErrMissing, packages)
	}
	cmd := exec.Command(path, filepath.Join("peers", "node", peer+".mjs"))
	cmd.Env = append(os.Environ(), "HOLDFAST_INTEROP="+packages)
	return cmd, nil
}

// pythons are the interpreters that may have redis-py, the best first: that of the path may be another than the system's, which has the
// system's packages.
var pythons = []string{"python3", "/usr/bin/python3"}

// python runs redis-py.
func python() (*exec.Cmd, error) {
	path, err := findPython()
	if err != nil {
		return nil, err
	}
	return exec.Command(path, filepath.Join("peers", "python", "redispy.py")), nil
}

// findPython asks once: it takes as long as the start of the peer.
var findPython = sync.OnceValues(func() (string, error) {
	for _, name := range pythons {
		path, err := exec.LookPath(name)
		if err == nil && exec.Command(path, "-c", "import redis.lock").Run() == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("redis-py is %w: on Debian, apt-get install python3-redis; elsewhere, pip install redis", ErrMissing)
})
