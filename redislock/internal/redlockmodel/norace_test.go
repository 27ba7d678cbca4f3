//go:build !race

package redlockmodel

const raceDetector = false
