package driver

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"log/slog"
	"strings"
	"testing"
)

// inside has its value in an unexported field, where fmt asks no methods.
type inside[T any] struct{ v T }

// exported has it in an exported one.
type exported[T any] struct{ V T }

// formats is every verb with every flag, and some that fmt refuses: then it prints the value without asking its methods.
var formats = func() (all []string) {
	for _, verb := range "vtbcdoOqxXUeEfFgGspwTy" {
		for _, flags := range []string{"", "+", "#", "-", " ", "0", "+#", "60", ".3"} {
			all = append(all, "%"+flags+string(verb))
		}
	}
	return append(all, "%!", "%")
}()

// hides checks that v shows none of the secrets, however it is printed and wherever it stands.
func hides[T any](t *testing.T, v T, secrets ...string) {
	t.Helper()
	nested := []any{
		v, &v, []T{v}, [1]T{v}, map[string]T{"key": v}, exported[T]{v}, &exported[T]{v}, inside[T]{v}, &inside[T]{v}, []inside[T]{{v}},
		inside[any]{v}, exported[inside[T]]{inside[T]{v}}, inside[*T]{&v}, inside[map[string]T]{map[string]T{"key": v}}, carrier[T]{v},
	}
	for _, format := range formats {
		needles := formsOf(format, secrets...)
		for _, value := range nested {
			for _, text := range []string{fmt.Sprintf(format, value), fmt.Errorf(format, value).Error()} {
				for _, needle := range needles {
					if strings.Contains(text, needle) {
						t.Errorf("%q of a %T shows it: %s", format, value, text)
					}
				}
			}
		}
	}
	for _, value := range nested[:7] {
		for name, text := range marshalled(value) {
			for _, needle := range formsOf("%v", secrets...) {
				if strings.Contains(text, needle) {
					t.Errorf("%s of a %T shows it: %s", name, value, text)
				}
			}
		}
	}
}

// carrier is an error with the value inside.
type carrier[T any] struct{ V T }

func (c carrier[T]) Error() string { return fmt.Sprintf("carrier of %v", c.V) }

// formsOf is how the secrets, or the bytes of them, would look with that format.
func formsOf(format string, secrets ...string) (forms []string) {
	for _, secret := range secrets {
		forms = append(forms, secret, fmt.Sprintf("%x", secret), fmt.Sprintf("%X", secret))
		for _, format := range []string{"%v", format} { // a verb that fmt refuses shows the bytes as %v does
			if strings.ContainsAny(format, "T!") || format == "%" {
				continue // shows no bytes
			}
			var parts []string
			for _, c := range []byte(secret) {
				parts = append(parts, fmt.Sprintf(format, c))
			}
			forms = append(forms, strings.Join(parts, " "), strings.Join(parts, ", "))
		}
	}
	return forms
}

func marshalled(value any) map[string]string {
	texts := make(map[string]string)
	if text, err := json.Marshal(value); err == nil {
		texts["json"] = string(text)
	}
	if text, err := xml.Marshal(value); err == nil {
		texts["xml"] = string(text)
	}
	var plain, structured bytes.Buffer
	slog.New(slog.NewTextHandler(&plain, nil)).Info("test", "value", value)
	slog.New(slog.NewJSONHandler(&structured, nil)).Info("test", "value", value)
	texts["slog text"], texts["slog json"] = plain.String(), structured.String()
	return texts
}

const canary = "Hunter2Canary"

// A helper that finds nothing would let every test of this kind pass.
func TestHidesFindsWhatIsShown(t *testing.T) {
	for _, format := range []string{"%v", "%+v", "%#v", "%q", "%x", "%X", "%d", "%s", "%o", "%b", "%U", "%c", "% 60d"} {
		raw := []byte(canary)
		for _, shown := range []any{canary, inside[string]{canary}, raw, inside[[]byte]{raw}, inside[[13]byte]{[13]byte(raw)}} {
			text, found := fmt.Sprintf(format, shown), false
			for _, needle := range formsOf(format, canary) {
				found = found || strings.Contains(text, needle)
			}
			if !found {
				t.Errorf("%q of a %T is not recognised: %s", format, shown, text)
			}
		}
	}
	for name, text := range marshalled(exported[string]{canary}) {
		if !strings.Contains(text, canary) {
			t.Errorf("%s is not recognised: %s", name, text)
		}
	}
}

func TestSecret(t *testing.T) {
	secret := NewSecret(canary)
	hides(t, secret, canary)
	if got := secret.Reveal(); got != canary {
		t.Errorf("Reveal returns %q", got)
	}
	if secret.Empty() {
		t.Error("Empty reports true for a text")
	}
	for _, format := range []string{"%v", "%+v", "%#v", "%q", "%x", "%d", "%s"} {
		if got := fmt.Sprintf(format, secret); got != hidden {
			t.Errorf("%s prints %q, want %q", format, got, hidden)
		}
	}
	if got, err := json.Marshal(exported[Secret]{secret}); string(got) != `{"V":"[secret]"}` || err != nil {
		t.Errorf("json: %s, %v", got, err)
	}
}

func TestSecretEmpty(t *testing.T) {
	for _, secret := range []Secret{{}, NewSecret("")} {
		if !secret.Empty() || secret.Reveal() != "" || secret.String() != "" || fmt.Sprintf("%#v", secret) != "" {
			t.Errorf("an empty secret is not empty: %q", secret.Reveal())
		}
	}
}
