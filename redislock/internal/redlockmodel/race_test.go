//go:build race

package redlockmodel

const raceDetector = true
