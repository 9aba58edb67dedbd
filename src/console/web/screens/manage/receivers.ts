/** A complete program that checks signatures by Standard Webhooks, as docs/receiving.md has it, letter by letter. */
export interface Receiver {
  readonly name: string;
  /** A command for a shell. */
  readonly install: string;
  readonly code: string;
}

export const receivers: Readonly<Record<'node' | 'python' | 'go', Receiver>> = {
  node: {
    name: 'Node.js',
    install: 'npm install standardwebhooks express',
    code: `// standard-express.mjs
import express from 'express';
import { Webhook } from 'standardwebhooks';

const webhook = new Webhook(process.env.SHARED_SECRET);
const app = express();
app.post('/events', express.raw({ type: '*/*', limit: '1mb' }), (request, response) => {
  try {
    const event = webhook.verify(request.body, request.headers);
    console.log(event.type, event.userId);
    response.sendStatus(200);
  } catch {
    response.sendStatus(401);
  }
});
app.listen(process.env.PORT);
`,
  },
  python: {
    name: 'Python',
    install: 'pip install standardwebhooks flask',
    code: `# standard_flask.py
import os

from flask import Flask, request
from standardwebhooks.webhooks import Webhook, WebhookVerificationError

webhook = Webhook(os.environ["SHARED_SECRET"])
app = Flask(__name__)


@app.post("/events")
def receive():
    try:
        event = webhook.verify(request.get_data(), dict(request.headers))
    except (WebhookVerificationError, ValueError):  # ValueError: what it cannot decode
        return "", 401
    print(event["type"], event.get("userId"))
    return "", 200


app.run(port=int(os.environ["PORT"]))
`,
  },
  go: {
    name: 'Go',
    install: 'go get github.com/standard-webhooks/standard-webhooks/libraries',
    code: `// standard.go
package main

import (
	"io"
	"log"
	"net/http"
	"os"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

func main() {
	webhook, err := standardwebhooks.NewWebhook(os.Getenv("SHARED_SECRET"))
	if err != nil {
		log.Fatal(err)
	}
	http.HandleFunc("/events", func(w http.ResponseWriter, r *http.Request) {
		rawBody, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
		if err != nil {
			w.WriteHeader(http.StatusRequestTimeout)
			return
		}
		if webhook.Verify(rawBody, r.Header) != nil {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		log.Printf("%s", rawBody)
		w.WriteHeader(http.StatusOK)
	})
	log.Fatal(http.ListenAndServe(":"+os.Getenv("PORT"), nil))
}
`,
  },
};
