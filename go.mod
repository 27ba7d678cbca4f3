module holdfast.dev

go 1.26.0
