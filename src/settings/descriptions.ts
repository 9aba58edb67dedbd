import { describeDefaults } from './read.ts';
import { settingsTable, type Settings } from './table.ts';

/** A setting as `postrider help settings` and the docs describe it. */
export interface DescribedSetting {
  readonly name: string;
  /** Whole sentences, with Markdown's backticks. */
  readonly description: string;
  /** The value that applies without the variable; empty: nothing. */
  readonly fallback: string;
  readonly allowed: string;
  readonly isSecret: boolean;
}

export interface SettingGroup {
  readonly title: string;
  readonly settings: readonly DescribedSetting[];
}

/** Every setting, those that belong together in one group. */
export function describeGroups(): SettingGroup[] {
  const defaults = describeDefaults();
  return groups.map(({ title, settings }) => ({
    title,
    settings: Object.entries(settings).map(([key, description]) => {
      const field = key as keyof Settings;
      const { name, allowed, secret } = settingsTable[field];
      const fallback = fallbackTexts[field] ?? (defaults[name] ?? '').replace('not set', '');
      return { name, description, fallback, allowed, isSecret: secret === true };
    }),
  }));
}

/** Texts for defaults that depend on where a process runs. */
const fallbackTexts: Readonly<Partial<Record<keyof Settings, string>>> = {
  logFormat: 'json; on a terminal pretty',
};

interface Group {
  readonly title: string;
  readonly settings: Readonly<Partial<Record<keyof Settings, string>>>;
}

const groups: readonly Group[] = [
  {
    title: 'Kafka',
    settings: {
      kafkaBrokers:
        'The Kafka brokers to connect to first; the others are found through them. `dev` and `demo` start a broker if this is not set.',
      kafkaRack:
        "The zone of this process, as in the brokers' setting `broker.rack`. Records are then read from a replica in the same zone, if there is one.",
      kafkaSsl: 'Encrypts the connections to Kafka.',
      kafkaSslCaFile:
        'File with the certificate authority that signed the certificates of the brokers. Needs `KAFKA_SSL=true`.',
      kafkaSslCertFile:
        'File with the client certificate. Needs `KAFKA_SSL=true` and `KAFKA_SSL_KEY_FILE`.',
      kafkaSslKeyFile: 'File with the private key of the client certificate.',
      kafkaSaslMechanism:
        'How to log in to Kafka. Needs `KAFKA_SASL_USERNAME` and `KAFKA_SASL_PASSWORD`.',
      kafkaSaslUsername: 'User name for Kafka.',
      kafkaSaslPassword: 'Password for Kafka.',
    },
  },
  {
    title: 'Topics',
    settings: {
      topicPrefix: 'Stands before the name of every topic and consumer group.',
      topicPartitions:
        'Number of partitions of new topics. Topics that hold configuration or state have one partition.',
      topicReplicationFactor:
        'Number of replicas of new topics. Without it, new topics have 3, or as many as there are brokers if these are fewer.',
      ingestTopics:
        'Full names of further topics to read calls from. Each needs `message.timestamp.type=LogAppendTime`, and a `max.message.bytes` that is no larger than that of `ingest`. Topics of the deployment itself are refused.',
    },
  },
  {
    title: 'Schema registry',
    settings: {
      schemaRegistryUrl:
        'The schema registry that holds the schemas of Avro, JSON Schema and Protobuf records. The URL may have a path.',
      schemaRegistryUsername:
        'User name for Basic authentication at the registry. Needs `SCHEMA_REGISTRY_PASSWORD`.',
      schemaRegistryPassword: 'Password for Basic authentication at the registry.',
      schemaRegistrySslCaFile:
        'File with the certificate authority of the registry. Needs an `https:` URL.',
      schemaRegistrySslCertFile:
        'File with the client certificate for the registry. Needs `SCHEMA_REGISTRY_SSL_KEY_FILE`.',
      schemaRegistrySslKeyFile: 'File with the private key of that client certificate.',
    },
  },
  {
    title: 'Encryption of secrets',
    settings: {
      secretKey:
        'Encrypts the secrets of destinations and audiences in the topic `config`. `openssl rand -base64 32` makes one. `dev` makes its own.',
      secretKeyPrevious:
        'The key before this one. During a rotation it decrypts what it encrypted.',
    },
  },
  {
    title: 'Gateway',
    settings: {
      gatewayPort: 'Port of the HTTP tracking API. 0 takes any free port.',
      gatewayTlsCertFile:
        'File with the certificate of the gateway, which then speaks HTTPS. Needs `GATEWAY_TLS_KEY_FILE`.',
      gatewayTlsKeyFile: "File with the private key of the gateway's certificate.",
      gatewayCorsOrigins:
        'Origins of the web pages that may send calls from a browser. `https://*.shop.example` allows every name below a domain, `*` all pages.',
      gatewayTrustedProxies:
        'Networks of proxies whose `X-Forwarded-For` header is believed. It gives `context.ip` of browser calls.',
      gatewayRateLimit:
        'Rate at which one gateway takes calls of one write key; more are answered with 429. In a request that is larger than 2 KB a call, with the fields of its batch in each call, every 2 KB count as a call. 0: no limit.',
    },
  },
  {
    title: 'Router',
    settings: {
      dedupeWindowMs:
        'How long the router remembers the message id of a call. A call that comes again within this time is dropped.',
    },
  },
  {
    title: 'Delivery',
    settings: {
      deliveryTimeoutMs:
        'Time limit of a whole attempt: connecting, sending, and receiving headers and body. `retry.timeout` of a destination makes it shorter.',
      deletionDelayMs:
        'How long after `delete-user` a worker may still start to send older events of the user, because it has not read the deletion. The notification leaves one `DELIVERY_TIMEOUT` later. Workers that cannot read deletions for this long stop sending, so keep it longer than Kafka takes to elect leaders.',
      retryWindowMs:
        'How long an event is retried, counted from its first failed attempt. `retry.window` of a destination makes it shorter.',
      retryTiersMs:
        'Delays between attempts. Each has a retry topic of its own. None may be longer than `RETRY_WINDOW`, and the first retry must fit into it.',
      maxAgeMs:
        'An event that could not even be tried for this long becomes a dead letter with the reason `too-old`. In a dedicated topic this happens after 3.5 days at the earliest, half of its retention.',
      attempts:
        'What is written to the topic `attempts`. `failures` leaves out events that are delivered at the first attempt.',
      deliveryAnswerBytes:
        'How much of the body of an answer that is no delivery is kept, in bytes, in the topic `attempts` and in dead letters. Where it is cut, they say so.',
      disableAfterMs:
        'Pauses a destination that nothing has reached for this long. If it is not set, destinations are paused by themselves only when their endpoint answers 410. `disableAfter` of a destination has priority.',
      deliveryMaxInFlight:
        'Deliveries that one worker has in flight at most. `maxInFlight` of one destination may be a quarter of it, which `apply` checks.',
      deliveryMaxInFlightPerDestination:
        'Deliveries to one destination that one worker has in flight at most, if the destination has no `maxInFlight`. Never more than a quarter of `DELIVERY_MAX_IN_FLIGHT`.',
      deliveryAllowNetworks:
        'Networks that deliveries may go to although they are not public. In `dev` loopback is allowed unless this is set, even to nothing.',
      deliveryProxy:
        'Proxy through which all requests to endpoints and authorization servers go, by CONNECT. It resolves names and has to refuse private addresses. A login is percent-encoded.',
      deliveryNoProxy:
        'Hosts that are reached without the proxy: names with all below them, addresses, and networks of URLs that have an address.',
    },
  },
  {
    title: 'Audiences',
    settings: {
      audienceCheckpointDir:
        'Folder for the checkpoints that make `audience-sync` fast. You can delete it at any time.',
      audienceFilesDir:
        'The only folder that `apply` and `audience-sync` read lists from. Links that lead out of it are refused.',
      audienceQueryTimeoutMs: 'Time limit of the query of one audience at its database.',
    },
  },
  {
    title: 'Console',
    settings: {
      consolePort: 'Port of the console. 0 takes any free port.',
      consoleHost:
        'Address that the console listens on. Addresses other than loopback are allowed only if people have to log in.',
      consoleUrl:
        'Public address of the console, without a path. If it begins with `https:`, cookies are sent over HTTPS only.',
      consoleBrandName:
        "The name at the top of the console's pages and in the titles of their windows, which customers see too.",
      consoleAccentColor:
        'Color of links and buttons. Where text in it has a contrast below 4.5, it becomes darker on light pages or lighter on dark ones, and the log says so.',
      consoleLogoFile:
        'The logo beside that name: an SVG or PNG file of up to 256 KB, shown 32 pixels high.',
      consoleBackUrl: "The address of your application that customers' pages link back to.",
      consoleFrameAncestors:
        "Origins of pages that may show customers' pages in a frame. Needs a `CONSOLE_URL` with `https:`. Staff's pages are in no frame.",
      consoleEventsFile:
        'The kinds of events that customers may choose from: a YAML list of `type` (`track` by default), `name`, `description` and `example`, a call. The file is read again when it changes. Kinds that came to destinations of theirs are offered in any case.',
      consoleApiUrl:
        'Address of `postrider api`, which requests of customers and operators who change destinations are passed on to. If it is not set, the console changes none.',
      consoleTrustedProxies:
        'Networks of proxies whose `X-Forwarded-For` header is believed. Wrong tokens and connections are counted by sender. Set it if a proxy is in front of the console.',
      consoleSessionKey:
        'Signs sessions. If it is not set, a restart ends all sessions. Another key ends them too.',
      consoleTokensFile:
        'Who may log in with a token, or send it as `Authorization: Bearer`: a YAML list of `name`, `role` (`viewer` or `operator`) and `sha256` of the token. The file is read again when it changes.',
      consoleOidcIssuer:
        'Issuer for log-in with OpenID Connect. Needs `CONSOLE_URL`; the redirect URI is `/login/callback` there.',
      consoleOidcClientId: 'Client id of the console at the issuer.',
      consoleOidcClientSecret: 'Client secret of the console at the issuer.',
      consoleOidcScope: 'Scopes that the console asks the issuer for.',
      consoleOidcRoleClaim:
        'The claim of the ID token or of `userinfo` that gives a person roles, as a text or a list. `realm_access.roles` names a claim inside another.',
      consoleOidcOperators: 'Values of that claim that make a person an operator.',
      consoleOidcViewers:
        'Values of that claim that make a person a viewer. A person with none of the values is refused.',
      consoleDataDir:
        "Folder of the console's index. You can delete it at any time. If it is not set, `.cache/console`; in `dev` a folder of `--data-dir`, or a temporary one.",
    },
  },
  {
    title: 'The API',
    settings: {
      apiPort: 'Port of the API. 0 takes any free port.',
      apiHost:
        'Address that the API listens on. If it is not set: loopback only, or all addresses if callers need tokens. Addresses other than loopback are allowed only then.',
      apiTrustedProxies:
        'Networks of proxies whose `X-Forwarded-For` header is believed. Wrong tokens and connections are counted by sender. Set it if a proxy is in front of the API.',
      apiMaxDestinationsPerCustomer:
        'Number of destinations that a customer may have. Only the API counts them; `apply` does not.',
      apiCustomerSources:
        'Ids of the sources whose calls customers may get. A destination that a customer makes gets them all unless the request names some. If it is not set, all sources.',
      apiTokensFile:
        'Who may send a token as `Authorization: Bearer`: a YAML list of `name`, `scopes` (of `read`, `write` and `operate`), `sha256` of the token and, for a token that is bound to customers, `customers`. The file is read again when it changes.',
      apiOidcIssuer: 'Issuer of access tokens, which are JSON Web Tokens (OpenID Connect).',
      apiOidcAudience: 'Audience of access tokens for the API.',
      apiOidcScopeClaim:
        'The claim of an access token that names its scopes, as one text or a list: `read`, `write`, `operate`.',
      apiOidcCustomersClaim:
        'The claim of an access token that names the customers it is bound to, as one text or a list. If it is set, a token without the claim is refused. If it is not set, access tokens are for all customers.',
      apiOidcConsoleClientId:
        "Client id of the console at the issuer. With it, the console's operators change destinations in its pages by the ID token of their log-in.",
      apiOidcRoleClaim: 'The claim of that ID token that gives a person roles.',
      apiOidcOperators: 'Values of that claim that give a person all scopes.',
      apiRateLimit:
        'Rate at which each token, person or link may send requests. Further ones are answered with 429.',
    },
  },
  {
    title: 'Operations',
    settings: {
      opsPort: 'Port of `/metrics`, `/livez` and `/readyz`. 0 takes any free port.',
      logLevel: 'The least severe level that is logged. `DEBUG=postrider` is short for `debug`.',
      logFormat: 'How log lines look: JSON for programs, or colored text for people.',
    },
  },
];
