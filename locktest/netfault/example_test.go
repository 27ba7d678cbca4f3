package netfault_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"

	"holdfast.dev/locktest/netfault"
)

// An answer that is held back arrives late, but unchanged and in order.
func Example() {
	server, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	defer server.Close()
	go func() {
		c, err := server.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		io.Copy(c, c)
	}()

	proxy, err := netfault.New(server.Addr().String())
	if err != nil {
		panic(err)
	}
	defer proxy.Close()
	client, err := net.Dial("tcp", proxy.Addr())
	if err != nil {
		panic(err)
	}
	defer client.Close()

	proxy.HoldReplies()
	fmt.Fprintln(client, "granted")
	proxy.AwaitHeld(context.Background(), netfault.Replies, len("granted\n"))
	fmt.Println("the server has answered, the client does not know")
	proxy.Resume()
	answer, err := bufio.NewReader(client).ReadString('\n')
	fmt.Print(answer)
	fmt.Println(err)
	// Output:
	// the server has answered, the client does not know
	// granted
	// <nil>
}
