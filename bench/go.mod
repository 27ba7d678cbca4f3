module holdfast.dev/bench

go 1.26.0

require (
	holdfast.dev v0.0.0
	holdfast.dev/redislock v0.0.0
)

replace (
	holdfast.dev => ../
	holdfast.dev/redislock => ../redislock
)
