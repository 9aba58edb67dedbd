// Go's net/http, which is what Bento's http_client sends with; measured.
package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

type load struct {
	Port, Origins, Events, WarmUp, InFlight, EveryMs int
	AuthorityFile                                    string
	Resumes                                          bool
}

func main() {
	var l load
	check(json.Unmarshal([]byte(os.Args[1]), &l))
	authorities, err := os.ReadFile(l.AuthorityFile)
	check(err)
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(authorities)
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.ForceAttemptHTTP2 = false
	transport.TLSNextProto = map[string]func(string, *tls.Conn) http.RoundTripper{}
	// All names lead to this machine.
	dialer := net.Dialer{}
	transport.DialContext = func(ctx context.Context, network, _ string) (net.Conn, error) {
		return dialer.DialContext(ctx, network, fmt.Sprintf("127.0.0.1:%d", l.Port))
	}
	transport.MaxIdleConns = 0
	transport.MaxIdleConnsPerHost = l.InFlight
	transport.TLSClientConfig = &tls.Config{RootCAs: pool}
	if l.Resumes {
		transport.TLSClientConfig.ClientSessionCache = tls.NewLRUClientSessionCache(1000)
	}
	client := &http.Client{Transport: transport, Timeout: 5 * time.Second}
	var delivered atomic.Int64
	var warm, end [2]time.Duration
	started := time.Now()
	send := func(event int) {
		url := fmt.Sprintf("https://e%d.bench.example:%d/events", event%l.Origins, l.Port)
		response, err := client.Post(url, "application/json", strings.NewReader(os.Args[2]))
		check(err)
		_, err = io.Copy(io.Discard, response.Body)
		check(err)
		response.Body.Close()
		switch delivered.Add(1) {
		case int64(l.WarmUp):
			warm = [2]time.Duration{cpu(), time.Since(started)}
		case int64(l.Events):
			end = [2]time.Duration{cpu(), time.Since(started)}
		}
	}
	var group sync.WaitGroup
	if l.EveryMs > 0 {
		for event := range l.Events {
			time.Sleep(time.Duration(l.EveryMs) * time.Millisecond)
			group.Add(1)
			go func() { defer group.Done(); send(event) }()
		}
	} else {
		events := make(chan int)
		for range l.InFlight {
			group.Add(1)
			go func() {
				defer group.Done()
				for event := range events {
					send(event)
				}
			}()
		}
		for event := range l.Events {
			events <- event
		}
		close(events)
	}
	group.Wait()
	fmt.Printf("{\"deliveries\":%d,\"cpuUs\":%d,\"wallMs\":%d,\"rssBytes\":0,\"rssAtWarmUpBytes\":0}\n",
		l.Events-l.WarmUp, (end[0] - warm[0]).Microseconds(), (end[1] - warm[1]).Milliseconds())
}

func cpu() time.Duration {
	var usage syscall.Rusage
	check(syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
