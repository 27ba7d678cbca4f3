// Package guardmodel is a model of the guard.
package guardmodel
