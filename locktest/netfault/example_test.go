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

// A late request: its sender has long connected anew when it arrives.
func ExampleProxy_Strand() {
	server, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	defer server.Close()
	proxy, err := netfault.New(server.Addr().String())
	if err != nil {
		panic(err)
	}
	defer proxy.Close()
	// connect returns both ends of a connection through the proxy.
	connect := func() (client, accepted net.Conn) {
		client, err := net.Dial("tcp", proxy.Addr())
		if err != nil {
			panic(err)
		}
		accepted, err = server.Accept()
		if err != nil {
			panic(err)
		}
		return client, accepted
	}
	hear := func(accepted net.Conn) {
		line, _ := bufio.NewReader(accepted).ReadString('\n')
		fmt.Print("the server is asked: ", line)
	}

	client, first := connect()
	defer first.Close()
	proxy.HoldRequests()
	fmt.Fprintln(client, "lock")
	proxy.AwaitHeld(context.Background(), netfault.Requests, len("lock\n"))
	proxy.Strand()
	client.Close() // it was reset

	client, second := connect()
	defer client.Close()
	defer second.Close()
	fmt.Fprintln(client, "undo")
	hear(second)
	proxy.Resume()
	hear(first)
	// Output:
	// the server is asked: undo
	// the server is asked: lock
}
