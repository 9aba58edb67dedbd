import type { Brand } from '../brand/brand.ts';

/** The few pages that stand before the console's own, without any script. */

/** For text that is put between tags or into an attribute in double quotes. */
export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

export interface LogInWays {
  /** The name of the identity provider's host. */
  readonly provider: string | undefined;
  readonly hasTokens: boolean;
}

/** Somebody who may log out. */
interface LoggedIn {
  readonly user: string;
  readonly csrf: string;
  /** The id of a customer's link. */
  readonly link?: string | undefined;
}

/** The part of a page between its head and its end. */
interface Content {
  readonly title: string;
  readonly body: string;
  readonly head?: string;
}

export interface EntrancePages {
  /** @param next a path of this console */
  logIn(ways: LogInWays, next: string, problem?: string): string;
  /**
   * @param who undefined: nobody is logged in
   * @param isByLink whoever asks came by a customer's link
   */
  logOut(who: LoggedIn | undefined, isByLink: boolean): string;
  goOn(path: string): string;
  /** @param sentence what was wrong, and what to do */
  refusal(sentence: string, canLogIn: boolean): string;
}

export function entrancePages(brand: Brand): EntrancePages {
  return {
    logIn: (ways, next, problem) => page(brand, logInPage(ways, next, problem)),
    logOut: (who, isByLink) =>
      page(brand, who === undefined ? loggedOutPage(isByLink) : logOutPage(who)),
    goOn: (path) => page(brand, goOnPage(path)),
    refusal: (sentence, canLogIn) => page(brand, refusalPage(sentence, canLogIn)),
  };
}

function logInPage({ provider, hasTokens }: LogInWays, next: string, problem?: string): Content {
  const oidc =
    provider === undefined
      ? ''
      : `<p><a class="button" href="${escapeHtml(`/login/oidc?next=${encodeURIComponent(next)}`)}">Log in with ${escapeHtml(provider)}</a></p>`;
  const form = hasTokens
    ? `<form method="post" action="/login">
<input type="hidden" name="next" value="${escapeHtml(next)}">
<label for="token">Token</label>
<input id="token" name="token" type="password" required autocomplete="current-password" spellcheck="false">
<button>Log in</button>
</form>`
    : '';
  const or = oidc !== '' && form !== '' ? '<p class="or">or with a token</p>' : '';
  return { title: 'Log in', body: `${note(problem)}${oidc}${or}${form}` };
}

function loggedOutPage(isByLink: boolean): Content {
  const again = isByLink ? 'To come back, open your link.' : '<a href="/login">Log in again</a>';
  return { title: 'You are logged out', body: `<p>${again}</p>` };
}

function logOutPage({ user, csrf, link }: LoggedIn): Content {
  const hidden = (name: string, value: string): string =>
    `<input type="hidden" name="${name}" value="${escapeHtml(value)}">`;
  const back = link === undefined ? '/' : `/c/${escapeHtml(link)}`;
  return {
    title: 'Log out',
    body: `<p>You are logged in as <bdi>${escapeHtml(user)}</bdi>.</p>
<form method="post" action="/logout">
${hidden('csrf', csrf)}${link === undefined ? '' : hidden('link', link)}
<button>Log out</button>
</form>
<p><a href="${back}">Back to the console</a></p>`,
  };
}

/**
 * Goes on to `path` by itself. Somebody who comes from another site, by a link or from the identity
 * provider, brings no cookie that is SameSite=Strict, and a redirect counts as a part of that way; from a
 * page of our own, the browser sends it.
 */
function goOnPage(path: string): Content {
  const to = escapeHtml(path);
  return {
    title: 'You are logged in',
    body: `<p><a href="${to}">Go on to the console</a></p>`,
    head: `<meta http-equiv="refresh" content="0; url=${to}">`,
  };
}

function refusalPage(sentence: string, canLogIn: boolean): Content {
  const again = canLogIn ? '<p><a href="/login">Log in</a></p>' : '';
  return { title: 'You cannot come in', body: `${note(sentence)}${again}` };
}

function note(sentence: string | undefined): string {
  return sentence === undefined ? '' : `<p class="note" role="alert">${escapeHtml(sentence)}</p>`;
}

function page(brand: Brand, { title, body, head = '' }: Content): string {
  const name = escapeHtml(brand.name);
  const logo =
    brand.logo === undefined ? '' : `<img class="logo" src="${escapeHtml(brand.logo)}" alt=""> `;
  const accent =
    brand.accent === undefined
      ? ''
      : `\n<link rel="stylesheet" href="${escapeHtml(brand.accent)}">`;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
${head}
<title>${title} · ${name}</title>
<link rel="stylesheet" href="${stylePath}">${accent}
</head>
<body><main><p class="brand">${logo}${name}</p><h1>${title}</h1>
${body}
</main></body>
</html>
`;
}

export const stylePath = '/login/style.css';

/** The colours of the console's own pages. */
export const style = `:root {
  color-scheme: light dark;
  --ground: #f5f6f8; --paper: #fff; --line: #dfe3e8; --line-strong: #878f9b;
  --ink: #12161c; --ink-quiet: #5f6875; --accent: #1f4fd8; --accent-ink: #fff;
  --bad: #b3261e; --bad-soft: #fdeceb;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ground: #0d1014; --paper: #151920; --line: #272e39; --line-strong: #6d7785;
    --ink: #e9edf2; --ink-quiet: #929cab; --accent: #8db0ff; --accent-ink: #0d1014;
    --bad: #ff9a91; --bad-soft: #3a1a19;
  }
}
*, *::before, *::after { box-sizing: border-box; }
body { margin: 0; padding: 16px; background: var(--ground); color: var(--ink);
  font: 16px/1.5 system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif; }
main { max-width: 360px; margin: 10vh auto 0; padding: 24px; background: var(--paper);
  border: 1px solid var(--line); border-radius: 8px; overflow-wrap: anywhere; }
.brand { margin: 0; color: var(--ink-quiet); font-weight: 600; }
.logo { max-width: 100%; height: 32px; vertical-align: middle; }
h1 { margin: 0 0 16px; font-size: 22px; }
a { color: var(--accent); }
label { display: block; margin-bottom: 4px; font-weight: 600; }
input { width: 100%; min-height: 44px; padding: 8px 12px; border: 1px solid var(--line-strong);
  border-radius: 6px; background: var(--paper); color: var(--ink); font: inherit; }
button, .button { display: block; width: 100%; min-height: 44px; margin-top: 12px; padding: 9px 12px;
  border: 1px solid var(--accent); border-radius: 6px; background: var(--accent);
  color: var(--accent-ink); font: inherit; font-weight: 600; text-align: center;
  text-decoration: none; cursor: pointer; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
.or { color: var(--ink-quiet); text-align: center; }
.note { padding: 8px 12px; border-radius: 6px; background: var(--bad-soft); color: var(--bad); }
`;
