module holdfast.dev/redislock

go 1.26.0

require (
	github.com/redis/rueidis v1.0.79
	holdfast.dev v0.0.0
)

replace holdfast.dev => ../
