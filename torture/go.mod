module holdfast.dev/torture

go 1.26.0

require (
	github.com/anishathalye/porcupine v1.3.1
	github.com/redis/rueidis v1.0.79
	holdfast.dev v0.0.0
	holdfast.dev/redislock v0.0.0
)

require golang.org/x/sys v0.49.0 // indirect

replace (
	holdfast.dev => ../
	holdfast.dev/redislock => ../redislock
)
