// Package scenario runs functions against the server at REDIS_PORT (by TLS if REDIS_CA names an authority): a line for each, exit code 1 when one fails.
package scenario

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"reflect"
	"time"

	"github.com/redis/go-redis/v9"
)

// Scenario is a function with its name; it panics when it fails.
type Scenario struct {
	Name string
	Run  func(r *redis.Client)
}

// Address is where the server listens.
func Address() string {
	return "127.0.0.1:" + os.Getenv("REDIS_PORT")
}

// Connect makes a client.
func Connect() *redis.Client {
	options := &redis.Options{Addr: Address()}
	if authority := os.Getenv("REDIS_CA"); authority != "" {
		roots := x509.NewCertPool()
		if !roots.AppendCertsFromPEM(Must(os.ReadFile(authority))) {
			panic("no certificate in " + authority)
		}
		options.TLSConfig = &tls.Config{RootCAs: roots}
	}
	return redis.NewClient(options)
}

// Must takes a value and an error apart, as most calls return them.
func Must[T any](value T, err error) T {
	Check(err)
	return value
}

// Check panics with an error.
func Check(err error) {
	if err != nil {
		panic(err)
	}
}

// Same panics when two values differ.
func Same(got, want any) {
	if !reflect.DeepEqual(got, want) {
		panic(fmt.Sprintf("got %v, want %v", got, want))
	}
}

// WaitFor asks until the condition holds.
func WaitFor(what string, condition func() bool) {
	for deadline := time.Now().Add(20 * time.Second); !condition(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			panic("waited in vain for " + what)
		}
	}
}

// Run runs all, or the one that is named by the program's argument.
func Run(suite string, scenarios []Scenario) {
	failed := false
	r := Connect()
	for _, scenario := range scenarios {
		if len(os.Args) > 1 && os.Args[1] != scenario.Name {
			continue
		}
		begin := time.Now()
		func() {
			defer func() {
				if reason := recover(); reason != nil {
					failed = true
					fmt.Printf("FAIL %s: %s: %v\n", suite, scenario.Name, reason)
				} else {
					fmt.Printf("ok   %s: %s (%d ms)\n", suite, scenario.Name, time.Since(begin).Milliseconds())
				}
			}()
			Check(r.FlushAll(context.Background()).Err())
			scenario.Run(r)
		}()
	}
	if failed {
		os.Exit(1)
	}
}
