//go:build !race

package guardmodel

const raceDetector = false
