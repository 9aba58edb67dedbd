/**
 * Requests of clients that are not written in JavaScript, byte for byte as those clients make them; only
 * the write key and the times are the test's.
 */

export interface RecordedCall {
  readonly messageId: string;
  readonly type: string;
}

export interface RecordedRequest {
  readonly client: string;
  /** From the request line to the last byte of the body; `host` stands for the gateway's. */
  bytes(host: string, writeKey: string): Buffer;
  readonly calls: readonly RecordedCall[];
}

function request(lines: readonly string[], body: string): Buffer {
  const length = Buffer.byteLength(body);
  const head = lines.map((line) => line.replace('LENGTH', String(length))).join('\r\n');
  return Buffer.from(`${head}\r\n\r\n${body}`);
}

/**
 * analytics-go 2.1: context only on the batch, integrations on the calls, times in seconds with a zone
 * without a colon, Go's escapes, a page's traits as properties, no write key in the body. The endpoint was
 * given with a slash at its end.
 */
export const goClient: RecordedRequest = {
  client: 'analytics-go 2',
  calls: ['track', 'page', 'identify', 'group', 'alias'].map((type) => ({
    type,
    messageId: `go-${type}`,
  })),
  bytes: (host, writeKey) =>
    request(
      [
        'POST //v1/batch HTTP/1.1',
        `Host: ${host}`,
        'User-Agent: analytics-go (version: 2.1.0)',
        'Content-Length: LENGTH',
        `Authorization: Basic ${Buffer.from(`${writeKey}:`).toString('base64')}`,
        'Content-Type: application/json',
        'Accept-Encoding: gzip',
      ],
      '{"context":{"library":{"name":"analytics-go","version":"2.1.0"}},"batch":[' +
        '{"integrations":{"All":true},"properties":{"big":1e+21,"html":"\\u003cb\\u003e \\u0026 é"},"userId":"go-user","event":"Order Completed","type":"track","messageId":"go-track","timestamp":"2026-11-20T18:59:40-0500"},' +
        '{"properties":{"path":"/pricing"},"userId":"go-user","category":"Docs","name":"Pricing","type":"page","messageId":"go-page","timestamp":"2026-11-20T18:59:40-0500"},' +
        '{"traits":{"plan":"free"},"anonymousId":"go-anonymous","type":"identify","messageId":"go-identify","timestamp":"2026-11-20T18:59:40+0000"},' +
        '{"traits":{"name":"Initech"},"userId":"go-user","groupId":"go-group","type":"group","messageId":"go-group","timestamp":"2026-11-20T18:59:40-0500"},' +
        '{"previousId":"go-before","userId":"go-user","type":"alias","messageId":"go-alias","timestamp":"2026-11-20T18:59:40-0500"}' +
        '],"messageId":"6d6f7265-0000-4000-8000-000000000000","sentAt":"2026-11-20T18:59:41-0500"}',
    ),
};

/**
 * analytics-python: the key only in the body, blanks after commas and colons, everything but ASCII
 * escaped, null for what is not there, microseconds, a slash at the end of the path.
 */
export const pythonClient: RecordedRequest = {
  client: 'analytics-python',
  calls: ['track', 'screen', 'identify'].map((type) => ({ type, messageId: `python-${type}` })),
  bytes: (host, writeKey) =>
    request(
      [
        'POST /v1/batch/ HTTP/1.1',
        `Host: ${host}`,
        'User-Agent: analytics-python/1.4.0',
        'Accept-Encoding: gzip, deflate',
        'Accept: */*',
        'Connection: keep-alive',
        'Content-Type: application/json',
        'Content-Length: LENGTH',
      ],
      '{"batch": [' +
        '{"integrations": {"all": true}, "anonymousId": null, "properties": {"total": 39.95, "note": "\\u00e9\\ud83d\\ude00"}, "timestamp": "2026-11-20T18:59:40.123456+00:00", "context": {"library": {"name": "analytics-python", "version": "1.4.0"}}, "userId": 4711, "type": "track", "event": "Order Completed", "messageId": "python-track"}, ' +
        '{"integrations": {}, "anonymousId": "python-anonymous", "properties": {}, "timestamp": "2026-11-20T18:59:40.123456+00:00", "context": {"library": {"name": "analytics-python", "version": "1.4.0"}}, "userId": null, "type": "screen", "category": null, "name": "Start", "messageId": "python-screen"}, ' +
        '{"integrations": {}, "anonymousId": null, "timestamp": "2026-11-20T18:59:40.123456+00:00", "context": {"library": {"name": "analytics-python", "version": "1.4.0"}}, "type": "identify", "userId": "python-user", "traits": {"plan": "free"}, "messageId": "python-identify"}' +
        `], "sentAt": "2026-11-20T18:59:41.654321+00:00", "writeKey": "${writeKey}"}`,
    ),
};
