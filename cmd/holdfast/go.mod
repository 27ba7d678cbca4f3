module holdfast.dev/cmd/holdfast

go 1.26.0

require (
	github.com/spf13/cobra v1.10.2
	github.com/spf13/pflag v1.0.9
	golang.org/x/sys v0.49.0
	holdfast.dev v0.0.0
	holdfast.dev/redislock v0.0.0
	holdfast.dev/torture v0.0.0
)

require (
	github.com/anishathalye/porcupine v1.3.1 // indirect
	github.com/inconshreveable/mousetrap v1.1.0 // indirect
	github.com/redis/rueidis v1.0.79 // indirect
)

replace (
	holdfast.dev => ../..
	holdfast.dev/redislock => ../../redislock
	holdfast.dev/torture => ../../torture
)
