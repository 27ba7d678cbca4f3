package driver_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"holdfast.dev/driver"
)

// A store that ignores case, and allows keys of 100 bytes.
func ExampleEncoding() {
	keys := driver.Encoding{
		Safe:   func(c byte) bool { return c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-' },
		Escape: '_',
		Max:    100,
	}
	for _, name := range []string{"orders-42", "orders/42", "Orders", "under_score"} {
		key := keys.Encode(name)
		back, ok := keys.Decode(key)
		fmt.Println(key, back, ok)
	}

	long := keys.Encode(fmt.Sprintf("%0200d", 1)) // keep the name beside such a key, and check it
	fmt.Println(long[:12]+"…", len(long), keys.Hashed(long))
	// Output:
	// orders-42 orders-42 true
	// orders_2f42 orders/42 true
	// _4frders Orders true
	// under_5fscore under_score true
	// _x356fa3350f… 64 true
}

func ExampleCheckName() {
	fmt.Println(driver.CheckName("orders/42"))
	fmt.Println(driver.CheckName("orders\n"))
	// Output:
	// <nil>
	// not a lock name: control character U+000A at byte 6; encode or remove it
}

func ExampleParseURL() {
	u, err := driver.ParseURL("redis://app:s3cret@10.0.0.1:6379,10.0.0.2:6379/0?prefix=locks&timeout=500ms")
	if err != nil {
		fmt.Println(err)
		return
	}
	timeout, _ := u.Duration("timeout", time.Second)
	fmt.Println(u)
	fmt.Println(u.User, u.Password, u.Hosts, u.Path, timeout)
	fmt.Println(u.Check("timeout", "tls"))

	_, err = driver.ParseURL("redis://app:s3/cret@10.0.0.1")
	fmt.Println(err)
	// Output:
	// redis://app:***@10.0.0.1:6379,10.0.0.2:6379/0
	// app [secret] [10.0.0.1:6379 10.0.0.2:6379] /0 500ms
	// not a usable store URL (redis://…): parameter "prefix": is not known; known are: timeout, tls
	// not a usable store URL (redis://…): a character of the password, or an @ or # elsewhere, is not percent-encoded; write %2F for /, %3F for ?, %23 for #, %40 for @
}

// The Acquire of a store that cannot tell its waiters when it is their turn.
func ExamplePoll() {
	busy := 2 // the store's answers, for this example
	try := func(ctx context.Context) (*driver.Grant, error) {
		if busy--; busy >= 0 {
			return nil, &driver.Held{Holders: []driver.Holder{{Label: "web-1:4711", Token: 6}}}
		}
		return &driver.Grant{Token: 7}, nil
	}

	r := &driver.Request{Waiting: func(p driver.Progress) { fmt.Println("waiting for", p.Holders[0].Label) }}
	grant, err := driver.Poll(context.Background(), r, driver.Backoff{Max: 10 * time.Millisecond}, try)
	fmt.Println(grant.Token, err)
	// Output:
	// waiting for web-1:4711
	// 7 <nil>
}

func ExampleBackoff() {
	b := driver.Backoff{Min: 10 * time.Millisecond, Max: 40 * time.Millisecond}
	b.Rand = func() float64 { return 0.5 } // for this example; leave it nil
	for range 5 {
		fmt.Println(b.Next())
	}
	b.Reset()
	fmt.Println("anew:", b.Next())
	// Output:
	// 7.5ms
	// 11.25ms
	// 16.875ms
	// 25.3125ms
	// 30ms
	// anew: 7.5ms
}

func ExampleAnswered() {
	taken := &driver.Held{RetryIn: 3 * time.Second}
	fmt.Println(driver.Answered(fmt.Errorf("node 1: %w", taken)))
	fmt.Println(driver.Answered(errors.New("connection reset")))
	fmt.Println(driver.Answered(errors.Join(taken, context.DeadlineExceeded)))
	// Output:
	// true
	// false
	// false
}

func ExampleAttempts() {
	ids := driver.NewAttempts()
	id := ids.Next()
	fmt.Println(id, len(id.Reveal()))

	again, err := driver.ParseAttempt(id.Reveal())
	fmt.Println(again == id, err)
	// Output:
	// [secret] 48
	// true <nil>
}

func ExampleSecret() {
	type config struct {
		Host     string
		Password driver.Secret
	}
	fmt.Printf("%+v\n", config{"10.0.0.1", driver.NewSecret("s3cret")})
	// Output: {Host:10.0.0.1 Password:[secret]}
}

// A deadline that a suspended machine does not sleep through.
func ExampleBoot() {
	clock := driver.Boot()
	rang := make(chan bool)
	clock.At(clock.Now().Add(time.Millisecond), func() { close(rang) })
	stop := clock.At(clock.Now().Add(time.Hour), func() { fmt.Println("an hour later") })

	<-rang
	fmt.Println("rang; the other was stopped:", stop())
	// Output: rang; the other was stopped: true
}

// A driver registers its scheme in an init function; importing it for that alone is enough to open its URLs.
func ExampleRegister() {
	registerOnce() // in a driver: func init() { driver.Register("example", openExample) }
	open, _ := driver.Lookup("example")
	u, _ := driver.ParseURL("example://user:secret@host:1234?session=5s")
	_, err := open(context.Background(), u)
	fmt.Println(err)
	// Output: nobody listens at example://user:***@host:1234 (session 5s)
}

// An Agenda keeps what has a deadline in order, and asks for one timer only.
func ExampleAgenda() {
	var agenda driver.Agenda[string]
	tea, rice := driver.Entry[string]{What: "tea"}, driver.Entry[string]{What: "rice"}
	agenda.Set(&rice, driver.Instant(20*time.Minute))
	agenda.Set(&tea, driver.Instant(4*time.Minute))
	now := driver.Instant(5 * time.Minute)
	for e := agenda.Due(now); e != nil; e = agenda.Due(now) {
		fmt.Println(e.What, "is ready")
	}
	fmt.Println("next in", agenda.Next().Sub(now))
	// Output:
	// tea is ready
	// next in 15m0s
}

var registerOnce = sync.OnceFunc(func() { driver.Register("example", openExample) })

func openExample(ctx context.Context, u *driver.URL) (driver.Store, error) {
	if err := u.Check("session"); err != nil {
		return nil, err
	}
	session, err := u.Duration("session", 10*time.Second)
	if err != nil {
		return nil, err
	}
	return nil, fmt.Errorf("nobody listens at %s (session %v)", u, session)
}

// What a client may believe of a TTL is a little less than what the store keeps.
func ExampleMargin() {
	fmt.Println(driver.Margin(10*time.Second), driver.Margin(100*time.Millisecond))
	// Output: 100ms 2ms
}

// A driver refuses a malformed request before it touches the store.
func ExampleRequest_Check() {
	r := &driver.Request{Name: "seats", Mode: driver.Permits, N: 3, Limit: 2, Attempt: driver.NewAttempts().Next(), TTL: time.Second}
	err := r.Check()
	fmt.Println(errors.Is(err, driver.ErrRequest), err)
	// Output: true 3 permits of a limit of 2: ask for at least one and at most the limit
}

// Parameters are read by kind; what is not known is refused with what is.
func ExampleURL_Check() {
	u, err := driver.ParseURL("redis://host:6379?ttl=10s&fair=true&prefix=locks&tires=3")
	if err != nil {
		panic(err)
	}
	ttl, _ := u.Duration("ttl", time.Minute)
	fair, _ := u.Bool("fair", false)
	prefix, _ := u.Text("prefix", "")
	tries, _ := u.Int("tries", 1)
	fmt.Println(ttl, fair, prefix, tries)
	fmt.Println(u.Check("ttl", "fair", "prefix", "tries"))
	// Output:
	// 10s true locks 1
	// not a usable store URL (redis://…): parameter "tires": is not known; known are: ttl, fair, prefix, tries
}

// Instants are moments of one clock: they have distances, and no date.
func ExampleInstant() {
	clock := driver.Local()
	asked := clock.Now()
	end := asked.Add(10 * time.Second)
	fmt.Println(end.Sub(asked), asked.Before(end), end.Before(driver.Never), driver.Never.Add(time.Hour) == driver.Never)
	// Output: 10s true true true
}

// A Local clock rings by package time, also by the fake one of a test.
func ExampleLocal() {
	clock := driver.Local()
	rang := make(chan bool)
	clock.At(clock.Now().Add(time.Millisecond), func() { rang <- true })
	stop := clock.At(clock.Now().Add(time.Hour), func() { panic("too early") })
	fmt.Println(<-rang, stop())
	// Output: true true
}

// Sleep ends with its context.
func ExampleSleep() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	fmt.Println(driver.Sleep(ctx, time.Hour))
	// Output: context deadline exceeded
}
