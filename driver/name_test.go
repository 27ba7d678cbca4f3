package driver

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

func TestCheckName(t *testing.T) {
	for _, name := range []string{
		"a", "A", "*", "../x", "/", ".", " ", "a b", "a/b", "日本", "é", "\u2028", "\u00a0", "%00", "\ufffd",
		strings.Repeat("a", MaxName), strings.Repeat("é", MaxName/2),
	} {
		if err := CheckName(name); err != nil {
			t.Errorf("CheckName(%.20q) = %v", name, err)
		}
	}
	for _, c := range []struct{ name, says string }{
		{"", "empty"},
		{strings.Repeat("a", MaxName+1), "513 bytes, 512 are allowed"},
		{strings.Repeat("é", MaxName/2) + "a", "513 bytes"},
		{"a\xff", "UTF-8"},
		{"\xed\xa0\x80", "UTF-8"}, // a surrogate
		{"\xc0\x80", "UTF-8"},     // zero, overlong
		{"a\x00", "U+0000 at byte 1"},
		{"\n", "U+000A at byte 0"},
		{"é\x7f", "U+007F at byte 2"},
		{"a\u0085", "U+0085 at byte 1"},
	} {
		err := CheckName(c.name)
		if !errors.Is(err, ErrName) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("CheckName(%.20q) = %v, want ErrName that says %q", c.name, err, c.says)
		}
		if !Answered(err) {
			t.Errorf("CheckName(%.20q): no store was touched, so the error must be an answer", c.name)
		}
	}
}

func lower(c byte) bool { return c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-' || c == '.' }
func alnum(c byte) bool { return lower(c) || c >= 'A' && c <= 'Z' }

// encodings differ in what they allow, and some choose an Escape as unlucky as can be.
var encodings = map[string]Encoding{
	"file":        {Safe: alnum, Escape: '%', Max: 200},
	"shortest":    {Safe: alnum, Escape: '%', Max: 64},
	"ignore case": {Safe: lower, Escape: '_', Max: 100},
	"unlimited":   {Safe: func(c byte) bool { return c > ' ' && c != 0x7f }, Escape: '\\'},
	"nothing":     {Safe: func(byte) bool { return false }, Escape: '=', Max: 255},
	"hex digit":   {Safe: alnum, Escape: '0', Max: 64},
	"letter x":    {Safe: alnum, Escape: 'x', Max: 64},
	"high byte":   {Safe: func(c byte) bool { return c >= 0x80 || alnum(c) }, Escape: 0xff, Max: 70},
}

// checkEncoding checks what Encoding promises of one name, and returns its key as the store sees it.
func checkEncoding(t *testing.T, kind string, name string) (key string) {
	t.Helper()
	e := encodings[kind]
	key = e.Encode(name)
	if e.Max > 0 && len(key) > e.Max {
		t.Errorf("%s: the key of %.80q has %d bytes, %d are allowed", kind, name, len(key), e.Max)
	}
	for i := range len(key) {
		if c := key[i]; c != e.Escape && !e.Safe(c) && !strings.ContainsRune(digits+"x", rune(c)) {
			t.Errorf("%s: the key of %.80q contains %q", kind, name, c)
		}
	}
	hash := fmt.Sprintf("%x", sha256.Sum256([]byte(name)))[:62]
	back, ok := e.Decode(key)
	switch unlimited := (Encoding{Safe: e.Safe, Escape: e.Escape}).Encode(name); {
	case e.Max == 0 || len(unlimited) <= e.Max:
		if e.Hashed(key) || !ok || back != name || key != unlimited {
			t.Errorf("%s: %q has the key %q, which is read as %q, %t", kind, name, key, back, ok)
		}
	case !e.Hashed(key) || ok || back != "" || !strings.HasSuffix(key, hash):
		t.Errorf("%s: %.80q… has the key %q, which should be hashed", kind, name, key)
	}
	if kind == "ignore case" {
		return strings.ToUpper(key)
	}
	return key
}

// Names that look like keys, names that differ little, long names, all kinds of bytes.
func randomName(random *rand.Rand) string {
	pieces := []string{
		"%", "x", "%x", "0", "00", "0x", "a", "A", "aa", "_", "_x", "\\", "\xff", "\xffx", "/", "é", "É", ".", "..", " ", "2f", "%2f", "_2f", "=",
	}
	var b strings.Builder
	for range 1 + random.IntN(6) {
		switch random.IntN(10) {
		case 0:
			fmt.Fprintf(&b, "%x", sha256.Sum256([]byte{byte(random.IntN(2))}))
		case 1:
			b.WriteString(strings.Repeat(pieces[random.IntN(len(pieces))], random.IntN(70)))
		default:
			b.WriteString(pieces[random.IntN(len(pieces))])
		}
	}
	return b.String()
}

func TestEncodingIsInjective(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	for kind, e := range encodings {
		t.Run(kind, func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 0))
			names := make(map[string]string) // by key
			hashed := 0
			for range 2000 {
				name := randomName(random)
				if random.IntN(4) == 0 {
					name = e.Encode(name) // a key is a name too, a hashed one as well
				}
				key := checkEncoding(t, kind, name)
				if other, taken := names[key]; taken && other != name {
					t.Fatalf("%q and %q have the same key %q", name, other, key)
				}
				names[key] = name
				if e.Hashed(e.Encode(name)) {
					hashed++
				}
			}
			if len(names) < 500 || (e.Max > 0) != (hashed > 100) {
				t.Errorf("%d different names, %d hashed: they test too little", len(names), hashed)
			}
		})
	}
}

func FuzzEncoding(f *testing.F) {
	f.Add("a", "A")
	f.Add("a/b", "a%2fb")
	f.Add("%x"+strings.Repeat("0", 64), strings.Repeat("/", 100))
	f.Add(strings.Repeat("a", 64), strings.Repeat("a", 65))
	f.Add("\xff", "\x00")
	f.Fuzz(func(t *testing.T, a, b string) {
		for kind, e := range encodings {
			if one, other := checkEncoding(t, kind, a), checkEncoding(t, kind, b); (one == other) != (a == b) {
				t.Errorf("%s: %q and %q have the keys %q and %q", kind, a, b, one, other)
			}
			// Any text may be found among a store's keys: what is not a key must not be read as one.
			if name, ok := e.Decode(a); ok && e.Encode(name) != a {
				t.Errorf("%s: %q is read as %q, whose key is %q", kind, a, name, e.Encode(name))
			}
		}
	})
}

func TestEncodingTable(t *testing.T) {
	e := Encoding{Safe: alnum, Escape: '%', Max: 70}
	long := strings.Repeat("/", 24)
	for name, key := range map[string]string{
		"orders-42": "orders-42",
		"orders/42": "orders%2f42",
		"100%":      "100%25",
		"é":         "%c3%a9",
		"%2f":       "%252f",
		"":          "",
		long[:23]:   strings.Repeat("%2f", 23),
		long:        fmt.Sprintf("%%x%x", sha256.Sum256([]byte(long)))[:64],
	} {
		if got := e.Encode(name); got != key {
			t.Errorf("Encode(%q) = %q, want %q", name, got, key)
		}
	}
	for _, key := range []string{
		"%", "%2", "%2F", "%zz", "%61", "a/b", "é", "%x", e.Encode(long), strings.Repeat("%2f", 24), "%%",
	} {
		if name, ok := e.Decode(key); ok || name != "" {
			t.Errorf("Decode(%q) = %q, %t: it is not the key of a name", key, name, ok)
		}
	}
	hash := e.Encode(long)
	for key, want := range map[string]bool{
		hash: true, hash[:63]: false, hash + "0": false, strings.ToUpper(hash): false, "": false, "%x": false,
		"%x" + strings.Repeat("g", 62): false, hash[:40] + "/" + hash[41:]: false, "_" + hash[1:]: false, "%0" + hash[2:]: false,
	} {
		if got := e.Hashed(key); got != want {
			t.Errorf("Hashed(%q) = %t", key, got)
		}
	}
	if (Encoding{Safe: alnum, Escape: '%'}).Hashed(hash) {
		t.Error("an encoding without a limit hashes nothing")
	}
}

// A limit that no hashed key fits into is a mistake in a driver, and found at its first name.
func TestEncodingMaxTooSmall(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("a limit of 63 is accepted")
		}
	}()
	Encoding{Safe: func(byte) bool { return true }, Escape: '%', Max: 63}.Encode("a")
}
