//go:build race

package guardmodel

const raceDetector = true
