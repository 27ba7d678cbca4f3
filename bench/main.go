// Command bench measures lock libraries on one Redis.
package main

func main() {}
